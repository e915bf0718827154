// Pictures of simulations, linked to pages that simulate: the page takes the picture's place when the reader sees it.
addEventListener("load", () => {
    if (!("IntersectionObserver" in window) || navigator.connection?.saveData) return;
    const watcher = new IntersectionObserver((seen) => {
        for (const {isIntersecting, target} of seen) {
            if (!isIntersecting) continue;
            watcher.unobserve(target);
            const link = target.closest("a"), frame = document.createElement("iframe");
            frame.src = link.href;
            frame.title = target.alt;
            link.replaceWith(frame);
        }
    });
    document.querySelectorAll("a img.live").forEach((image) => watcher.observe(image));
});
