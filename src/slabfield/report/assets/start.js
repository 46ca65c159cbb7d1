// Start all parts; redraw the matrix when the color scheme changes.

startNetwork();
startTable();
startMatrix();
startConvergence();

const setPrinting = (printing) => {
  document.documentElement.classList.toggle("printing", printing);
  matrix.draw();
};
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => matrix.draw());
addEventListener("beforeprint", () => setPrinting(true));
addEventListener("afterprint", () => setPrinting(false));
