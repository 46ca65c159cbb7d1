// Start every part; draw what does not follow colours by itself anew when they change.

startNetwork();
startTable();
startMatrix();
startConvergence();

const colours = (printing) => {
  document.documentElement.classList.toggle("printing", printing);
  matrix.draw();
};
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => matrix.draw());
addEventListener("beforeprint", () => colours(true));
addEventListener("afterprint", () => colours(false));
