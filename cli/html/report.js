/*
 * report.js - what a report does beyond what its HTML says: sorts and searches tables, zooms into the
 * timeline, changes between light and dark. Plain ES2017, no library; nothing is sent or stored. Without it
 * everything is there to read.
 */
(function () {
  "use strict";

  var SVG = "http://www.w3.org/2000/svg";
  var COLUMNS_MAX = 240;

  function make(name, attributes, text) {
    var element = document.createElement(name);
    Object.keys(attributes || {}).forEach(function (key) {
      element.setAttribute(key, attributes[key]);
    });
    if (text) element.textContent = text;
    return element;
  }

  /* ---- light and dark */

  function theme() {
    var root = document.documentElement;
    var button = document.getElementById("theme");
    root.classList.add("js");
    if (!button) return;
    button.addEventListener("click", function () {
      var dark = root.getAttribute("data-theme") === "dark" ||
        (!root.getAttribute("data-theme") && matchMedia("(prefers-color-scheme: dark)").matches);
      root.setAttribute("data-theme", dark ? "light" : "dark");
    });
  }

  /* ---- tables */

  /* The figure of a cell where it has one, else its text; null: not known. */
  function valueOf(row, column) {
    var cell = row.cells[column];
    if (!cell || cell.classList.contains("nil")) return null;
    if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
    return cell.textContent.trim();
  }

  /* What is not known goes last, whichever way. */
  function compare(a, b, sign) {
    if (a === null || b === null) return (a === null) - (b === null);
    if (typeof a === "number" && typeof b === "number") return sign * (a - b);
    return sign * String(a).localeCompare(String(b));
  }

  function sortBy(table, column) {
    var heads = table.tHead.rows[0].cells, body = table.tBodies[0];
    var isText = heads[column].classList.contains("t");
    var was = heads[column].getAttribute("aria-sort");
    var order = was ? (was === "descending" ? "ascending" : "descending") : (isText ? "ascending" : "descending");
    var sign = order === "ascending" ? 1 : -1;
    var rows = Array.prototype.map.call(body.rows, function (row, at) {
      return { row: row, at: at, value: valueOf(row, column) };
    });
    rows.sort(function (a, b) { return compare(a.value, b.value, sign) || a.at - b.at; });
    rows.forEach(function (entry) { body.appendChild(entry.row); });
    Array.prototype.forEach.call(heads, function (head) { head.removeAttribute("aria-sort"); });
    heads[column].setAttribute("aria-sort", order);
  }

  function makeSortable(table) {
    Array.prototype.forEach.call(table.tHead.rows[0].cells, function (head, column) {
      var name = head.textContent;
      if (!name) return;
      var button = make("button", { type: "button" }, name);
      head.textContent = "";
      head.appendChild(button);
      button.addEventListener("click", function () { sortBy(table, column); });
    });
  }

  function makeSearched(table) {
    var tools = make("div", { "class": "tools" });
    var input = make("input", { type: "search", id: table.id + "-search", autocomplete: "off", spellcheck: "false" });
    var output = make("output", { "for": input.id, "aria-live": "polite" });
    var rows = Array.prototype.map.call(table.tBodies[0].rows, function (row) {
      var name = row.querySelector("th");
      return { row: row, text: ((name.title || "") + " " + row.textContent).toLowerCase() };
    });
    tools.appendChild(make("label", { "for": input.id }, "Search kernels"));
    tools.appendChild(input);
    tools.appendChild(output);
    table.parentNode.parentNode.insertBefore(tools, table.parentNode);
    input.addEventListener("input", function () {
      var words = input.value.toLowerCase().split(/\s+/).filter(Boolean), found = 0;
      rows.forEach(function (entry) {
        var shown = words.every(function (word) { return entry.text.indexOf(word) >= 0; });
        entry.row.classList.toggle("hidden", !shown);
        found += shown ? 1 : 0;
      });
      output.textContent = words.length ? found + " of " + rows.length : "";
    });
  }

  /* ---- timeline */

  function timeText(ns) {
    var units = [["s", 1e9], ["ms", 1e6], ["us", 1e3], ["ns", 1]];
    var unit = units.find(function (each) { return Math.abs(ns) >= each[1]; }) || units[3];
    var value = ns / unit[1];
    return value.toFixed(unit[1] === 1 || Math.abs(value) >= 1000 ? 0 : Math.abs(value) >= 100 ? 1 : 2) + unit[0];
  }

  function percentText(share) {
    return (100 * share).toFixed(1) + " %";
  }

  /* One device: `from` and `to` are buckets, to not included. */
  function Timeline(data, device, element) {
    this.data = data;
    this.device = device;
    this.svg = element.querySelector("svg");
    this.axis = element.querySelector(".axis").children;
    this.from = 0;
    this.to = data.buckets;
    this.addTools(element);
    this.addPointer();
    this.draw();
  }

  Timeline.prototype.startOf = function (bucket) {
    return Math.min(bucket * this.data.bucket_ns, this.data.wall_ns);
  };

  Timeline.prototype.button = function (tools, name, label, action) {
    var self = this, button = make("button", { type: "button", "aria-label": label, title: label }, name);
    button.addEventListener("click", function () { action.call(self); });
    tools.appendChild(button);
  };

  Timeline.prototype.addTools = function (element) {
    var self = this, tools = make("div", { "class": "tools" });
    this.button(tools, "+", "Zoom in", function () { this.zoom(0.5); });
    this.button(tools, "\u2212", "Zoom out", function () { this.zoom(2); });
    this.button(tools, "\u2190", "Earlier", function () { this.move(-0.5); });
    this.button(tools, "\u2192", "Later", function () { this.move(0.5); });
    this.button(tools, "all", "Show all of the time", function () { this.show(0, this.data.buckets); });
    this.output = make("output", { "aria-live": "polite" });
    tools.appendChild(this.output);
    element.insertBefore(tools, this.svg);
    this.svg.setAttribute("tabindex", "0");
    this.svg.addEventListener("keydown", function (event) {
      var actions = {
        "+": function () { self.zoom(0.5); }, "=": function () { self.zoom(0.5); },
        "-": function () { self.zoom(2); }, "0": function () { self.show(0, self.data.buckets); },
        "ArrowLeft": function () { self.move(-0.25); }, "ArrowRight": function () { self.move(0.25); }
      };
      if (!actions[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      actions[event.key]();
      event.preventDefault();
    });
  };

  /* Shows buckets from to to, at least one and at most all. */
  Timeline.prototype.show = function (from, to) {
    var length = Math.max(1, Math.min(this.data.buckets, Math.round(to - from)));
    this.from = Math.max(0, Math.min(this.data.buckets - length, Math.round(from)));
    this.to = this.from + length;
    this.draw();
  };

  Timeline.prototype.zoom = function (factor) {
    var middle = (this.from + this.to) / 2, half = Math.max(0.5, (this.to - this.from) * factor / 2);
    this.show(middle - half, middle + half);
  };

  Timeline.prototype.move = function (part) {
    var by = Math.sign(part) * Math.max(1, Math.abs(part) * (this.to - this.from));
    this.show(this.from + by, this.to + by);
  };

  Timeline.prototype.bucketAt = function (event) {
    var box = this.svg.getBoundingClientRect();
    var share = Math.max(0, Math.min(0.999999, (event.clientX - box.left) / box.width));
    return this.from + Math.floor(share * (this.to - this.from));
  };

  Timeline.prototype.addPointer = function () {
    var self = this, begun = null, mark = null;
    this.svg.addEventListener("pointerdown", function (event) {
      if (event.button) return;
      begun = self.bucketAt(event);
      mark = document.createElementNS(SVG, "rect");
      mark.setAttribute("class", "drag");
      mark.setAttribute("height", "200");
      self.svg.appendChild(mark);
      self.svg.setPointerCapture(event.pointerId);
    });
    this.svg.addEventListener("pointermove", function (event) {
      var at = self.bucketAt(event), low, high, one = 1000 / (self.to - self.from);
      self.tell(at, at + 1);
      if (begun === null) return;
      low = Math.min(begun, at);
      high = Math.max(begun, at) + 1;
      mark.setAttribute("x", String((low - self.from) * one));
      mark.setAttribute("width", String((high - low) * one));
      self.tell(low, high);
    });
    this.svg.addEventListener("pointerup", function (event) {
      var at = self.bucketAt(event), first = begun;
      if (begun === null) return;
      begun = null;
      mark.remove();
      if (Math.abs(at - first) > 0) self.show(Math.min(first, at), Math.max(first, at) + 1);
    });
    this.svg.addEventListener("pointercancel", function () {
      begun = null;
      if (mark) mark.remove();
    });
    this.svg.addEventListener("pointerleave", function () {
      if (begun === null) self.tell(self.from, self.to);
    });
  };

  Timeline.prototype.sum = function (term, from, to) {
    var sum = 0;
    for (var i = from; i < to; i++) sum += term.sm_ns[i];
    return sum;
  };

  /* What the stretch has, in words: the largest parts. */
  Timeline.prototype.tell = function (from, to) {
    var self = this, start = this.data.start_ns, width = this.startOf(to) - this.startOf(from);
    var parts = this.device.terms.map(function (term) {
      return { name: term.name, share: self.sum(term, from, to) / (width * self.device.sms) };
    }).filter(function (part) { return part.share >= 0.0005; });
    parts.sort(function (a, b) { return b.share - a.share; });
    this.output.textContent = timeText(start + this.startOf(from)) + " to " + timeText(start + this.startOf(to)) + ": " +
      parts.slice(0, 5).map(function (part) { return part.name + " " + percentText(part.share); }).join(", ");
  };

  Timeline.prototype.draw = function () {
    var group = Math.ceil((this.to - this.from) / COLUMNS_MAX), columns = [], self = this;
    var title = this.svg.querySelector("title");
    var origin = this.startOf(this.from), span = this.startOf(this.to) - origin;
    for (var at = this.from; at < this.to; at += group) {
      var end = Math.min(this.to, at + group), left = this.startOf(at), right = this.startOf(end);
      columns.push({ from: at, to: end, x: 1000 * (left - origin) / span, width: 1000 * (right - left) / span,
        ns: right - left, base: 0 });
    }
    while (this.svg.lastChild) this.svg.removeChild(this.svg.lastChild);
    this.svg.appendChild(title);
    this.device.terms.forEach(function (term) {
      var d = "";
      columns.forEach(function (column) {
        var share = self.sum(term, column.from, column.to) / (column.ns * self.device.sms);
        if (!(share > 0.0002)) return;
        d += "M" + column.x.toFixed(2) + " " + (200 * (1 - column.base)).toFixed(2) + "h" + column.width.toFixed(2) +
          "v" + (-200 * share).toFixed(2) + "h" + (-column.width).toFixed(2) + "z";
        column.base += share;
      });
      self.path("c-" + term.name, d);
    });
    if (this.device.sampled) this.path("sampled", this.sampledLine(columns));
    this.axis[0].textContent = timeText(this.data.start_ns + origin);
    this.axis[2].textContent = timeText(this.data.start_ns + origin + span);
    this.tell(this.from, this.to);
  };

  Timeline.prototype.path = function (name, d) {
    var path = document.createElementNS(SVG, "path");
    path.setAttribute("class", name);
    path.setAttribute("d", d);
    this.svg.appendChild(path);
  };

  Timeline.prototype.sampledLine = function (columns) {
    var sampled = this.device.sampled, d = "", broken = true;
    columns.forEach(function (column) {
      var known = sampled.slice(column.from, column.to).filter(function (value) { return value !== null; });
      var mean = known.reduce(function (a, b) { return a + b; }, 0) / known.length;
      if (known.length)
        d += (broken ? "M" : "L") + (column.x + column.width / 2).toFixed(2) + " " + (200 * (1 - Math.min(1, mean))).toFixed(2);
      broken = !known.length;
    });
    return d;
  };

  function timelines() {
    var source = document.getElementById("timeline-data"), data;
    if (!source) return;
    data = JSON.parse(source.textContent);
    data.devices.forEach(function (device) {
      var element = document.querySelector(".timeline[data-device=\"" + device.device_id + "\"]");
      if (element && data.buckets) new Timeline(data, device, element);
    });
  }

  /* What is folded is printed, too. */
  function printing() {
    var opened = [];
    window.addEventListener("beforeprint", function () {
      opened = Array.prototype.filter.call(document.querySelectorAll("details"), function (each) { return !each.open; });
      opened.forEach(function (each) { each.open = true; });
    });
    window.addEventListener("afterprint", function () {
      opened.forEach(function (each) { each.open = false; });
    });
  }

  theme();
  Array.prototype.forEach.call(document.querySelectorAll("table[data-sort]"), makeSortable);
  Array.prototype.forEach.call(document.querySelectorAll("table[data-search]"), makeSearched);
  timelines();
  printing();
}());
