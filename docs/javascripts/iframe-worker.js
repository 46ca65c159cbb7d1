// Browsers run no workers on pages opened from a disk. There the worker of the search runs in a
// hidden frame instead, so that searching works offline; on a server nothing is changed.
if (location.protocol === "file:") {
  class FrameWorker extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.srcdoc = `<script>
        const worker = frameElement.worker;
        window.postMessage = (data) => worker.tell(data);
        window.importScripts = (...urls) => Promise.all(urls.map((url) => new Promise((done) => {
          const script = document.createElement("script");
          script.src = url;
          script.onload = done;
          document.head.append(script);
        })));
        </` + `script><script src="${new URL(url, location.href)}"></` + `script>`;
      frame.worker = this;
      this.ready = new Promise((done) => { frame.onload = () => done(frame.contentWindow); });
      document.body.append(frame);
    }
    tell(data) {
      this.dispatchEvent(new MessageEvent("message", { data }));
    }
    postMessage(data) {
      this.ready.then((frame) => frame.dispatchEvent(new frame.MessageEvent("message", { data })));
    }
    terminate() {}
  }
  window.Worker = window.IFrameWorker = FrameWorker;
}
