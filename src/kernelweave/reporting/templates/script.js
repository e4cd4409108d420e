// Sorting of tables, texts of marks on hover and focus, legends, and links inside a shadow root.
(() => {
  "use strict";

  function attach(host) {
    let root = host.shadowRoot;
    if (!root) {
      const template = host.querySelector("template");
      if (!template) return;
      root = host.attachShadow({ mode: "open" });
      root.append(template.content);
      template.remove();
    }
    const report = root.querySelector(".report");
    if (!report || report.classList.contains("live")) return;
    report.classList.add("live");
    links(root);
    tables(root);
    charts(root, report);
    legends(root);
    copying(root);
  }

  function links(root) {
    root.addEventListener("click", (event) => {
      const link = event.target.closest && event.target.closest("a[data-to]");
      if (!link) return;
      const heading = root.getElementById("h-" + link.dataset.to);
      if (!heading) return;
      event.preventDefault();
      heading.scrollIntoView();
      heading.focus({ preventScroll: true });
    });
  }

  function compare(a, b, direction) {
    if (a === null || b === null) return (a === null) - (b === null); // empty cells last in both directions
    const order = typeof a === "number" && typeof b === "number" ? a - b : typeof a === "number" ? -1
      : typeof b === "number" ? 1 : a.localeCompare(b, undefined, { numeric: true });
    return direction * order;
  }

  function key(cell) {
    const value = cell.dataset.v;
    return value === undefined ? cell.textContent.trim() : value === "" ? null : Number(value);
  }

  function sort(heading, root) {
    const table = heading.closest("table"), column = heading.cellIndex, body = table.tBodies[0];
    const numeric = heading.firstElementChild.dataset.kind === "n";
    const before = heading.getAttribute("aria-sort");
    const descending = before ? before === "ascending" : numeric; // numbers begin with the largest
    for (const other of heading.parentNode.children) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const rows = Array.from(body.rows, (row) => [key(row.cells[column]), row]);
    rows.sort((a, b) => compare(a[0], b[0], descending ? -1 : 1));
    body.append(...rows.map((pair) => pair[1]));
    root.getElementById("said").textContent =
      "Sorted by " + heading.textContent.trim() + (descending ? ", descending" : ", ascending");
  }

  function tables(root) {
    for (const button of root.querySelectorAll("thead button")) {
      button.addEventListener("click", () => sort(button.closest("th"), root));
    }
    const boxes = Array.from(root.querySelectorAll(".box"));
    const reach = (box) => {
      if (box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    };
    if (window.ResizeObserver) {
      const watcher = new ResizeObserver((entries) => entries.forEach((entry) => reach(entry.target)));
      boxes.forEach((box) => watcher.observe(box));
    } else boxes.forEach(reach);
  }

  function charts(root, report) {
    const tip = root.getElementById("tip");
    let shown = null;

    function hide() {
      if (shown) shown.classList.remove("on");
      shown = null;
      tip.hidden = true;
    }

    function show(mark) {
      hide();
      shown = mark;
      mark.classList.add("on");
      const lines = mark.dataset.tip.split("\n").map((text, place) => {
        const line = document.createElement(place ? "span" : "b");
        line.textContent = text;
        return line;
      });
      tip.replaceChildren(...lines);
      tip.hidden = false;
      const frame = report.getBoundingClientRect(), at = mark.getBoundingClientRect();
      const middle = (at.left + at.right) / 2 - frame.left - tip.offsetWidth / 2;
      const left = Math.max(4, Math.min(middle, frame.width - tip.offsetWidth - 4));
      const above = at.top - frame.top - tip.offsetHeight - 8;
      const below = at.bottom - frame.top + 8;
      tip.style.left = left + "px";
      tip.style.top = (at.top - tip.offsetHeight - 8 < 0 ? below : Math.max(above, 0)) + "px";
    }

    for (const chart of root.querySelectorAll("svg.chart")) {
      const title = chart.querySelector("title");
      chart.setAttribute("aria-label", title.textContent); // a title would be a second text on hover
      chart.removeAttribute("aria-labelledby");
      title.remove();
      const marks = Array.from(chart.querySelectorAll(".m"));
      if (!marks.length) continue;
      chart.setAttribute("role", "group");
      marks[0].setAttribute("tabindex", "0");
      name(marks[0]);
      chart.addEventListener("pointerover", (event) => {
        if (event.target.classList.contains("m")) show(event.target);
        else hide();
      });
      chart.addEventListener("pointerleave", hide);
      chart.addEventListener("focusin", (event) => event.target.classList.contains("m") && show(event.target));
      chart.addEventListener("focusout", hide);
      chart.addEventListener("keydown", (event) => {
        const next = neighbour(event.key, event.target, marks);
        if (!next) return;
        event.preventDefault();
        event.target.setAttribute("tabindex", "-1");
        next.setAttribute("tabindex", "0");
        name(next);
        next.focus();
      });
    }
    root.addEventListener("keydown", (event) => event.key === "Escape" && hide());
    document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
  }

  function name(mark) {
    mark.setAttribute("role", "img");
    mark.setAttribute("aria-label", mark.dataset.tip.replaceAll("\n", ", "));
  }

  // Left and right: the mark before and after; up and down: the nearest mark of the row above and below.
  function neighbour(pressed, mark, marks) {
    const place = marks.indexOf(mark);
    if (place < 0) return null;
    if (pressed === "ArrowRight") return marks[Math.min(place + 1, marks.length - 1)];
    if (pressed === "ArrowLeft") return marks[Math.max(place - 1, 0)];
    if (pressed === "Home") return marks[0];
    if (pressed === "End") return marks[marks.length - 1];
    if (pressed !== "ArrowUp" && pressed !== "ArrowDown") return null;
    const middle = (one) => { const at = one.getBoundingClientRect(); return (at.left + at.right) / 2; };
    let row = mark.closest(".row"), others = [];
    while (row && !others.length) {
      do row = pressed === "ArrowDown" ? row.nextElementSibling : row.previousElementSibling;
      while (row && !row.classList.contains("row"));
      if (row) others = Array.from(row.querySelectorAll(".m"));
    }
    const here = middle(mark);
    const distance = (one) => Math.abs(middle(one) - here);
    return others.length ? others.reduce((best, one) => (distance(one) < distance(best) ? one : best)) : mark;
  }

  function legends(root) {
    for (const figure of root.querySelectorAll("figure")) {
      const keys = Array.from(figure.querySelectorAll(".key"));
      let pinned = null;
      const light = (number) => {
        for (const picture of figure.querySelectorAll(".chart")) {
          picture.classList.toggle("dim", number !== null);
          for (const group of picture.querySelectorAll(".group")) group.classList.toggle("lit", group.dataset.group === number);
        }
      };
      for (const entry of keys) {
        const own = entry.dataset.key;
        entry.addEventListener("pointerenter", () => light(own));
        entry.addEventListener("focus", () => light(own));
        entry.addEventListener("pointerleave", () => light(pinned));
        entry.addEventListener("blur", () => light(pinned));
        entry.addEventListener("click", () => {
          pinned = pinned === own ? null : own;
          for (const other of keys) other.setAttribute("aria-pressed", String(other.dataset.key === pinned));
          light(pinned);
        });
      }
    }
  }

  function copying(root) {
    if (!navigator.clipboard) return;
    for (const button of root.querySelectorAll(".copy")) {
      button.hidden = false;
      button.addEventListener("click", () => {
        navigator.clipboard.writeText(button.parentNode.querySelector("code").textContent).then(
          () => { button.textContent = "Copied"; },
          () => { button.textContent = "Select and copy by hand"; });
      });
    }
  }

  document.querySelectorAll("[data-kernelweave-report]").forEach(attach);
})();
