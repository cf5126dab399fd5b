// SPDX-License-Identifier: MIT
// Filters, chart and hover of the page; works by D3, any version from 3 on.
(function () {
    "use strict";
    var data = JSON.parse(document.getElementById("cells-data").textContent);
    var cells = data.cells, looks = data.looks;
    var keys = ["file", "workload", "path", "pattern", "elements", "block_size", "regime"];
    var byHref = {}, chosen = {}, quantity = "elements", at = -1, points = [];
    var logarithm = d3.scaleLog || d3.scale.log;
    var svg = d3.select("#chart"), tip = d3.select("#tip");
    var box = {left: 70, top: 20, right: 800, bottom: 400};
    var shapes = { // of a marker, about the middle
        o: "M-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0Z", s: "M-4.5,-4.5h9v9h-9Z", "^": "M0,-5.5L5.5,4.5H-5.5Z",
        v: "M0,5.5L5.5,-4.5H-5.5Z", D: "M0,-6L6,0L0,6L-6,0Z", P: "M-2,-5.5h4v3.5h3.5v4h-3.5v3.5h-4v-3.5h-3.5v-4h3.5Z",
        X: "M-5,-3L-3,-5L0,-2L3,-5L5,-3L2,0L5,3L3,5L0,2L-3,5L-5,3L-2,0Z", "<": "M-5.5,0L4.5,-5.5V5.5Z",
        ">": "M5.5,0L-4.5,-5.5V5.5Z", h: "M0,-5.5L5,-2.7V2.7L0,5.5L-5,2.7V-2.7Z",
        "*": "M0,-6L1.6,-2H6L2.5,0.7L3.8,5L0,2.4L-3.8,5L-2.5,0.7L-6,-2H-1.6Z"
    };

    cells.forEach(function (cell) { byHref[cell.href] = cell; });

    function look(path) { return looks[path] || ["#999999", "o"]; }

    function timeText(ns) {
        var units = ["ns", "µs", "ms", "s"], unit = 0;
        while (unit < 3 && ns >= 999.95) { ns /= 1000; unit++; }
        return ns.toPrecision(4) + " " + units[unit];
    }

    function numberText(value) { return Math.abs(value) >= 1e6 ? value.toExponential(3) : String(+value.toPrecision(6)); }

    function tickText(value) {
        var power = value >= 1e9 ? [1e9, "G"] : value >= 1e6 ? [1e6, "M"] : value >= 1e3 ? [1e3, "k"] : [1, ""];
        return +(value / power[0]).toPrecision(3) + power[1];
    }

    function xOf(cell) { return quantity in cell ? +cell[quantity] : cell.counters[quantity]; }

    function isShown(cell) {
        return keys.every(function (key) { return !chosen[key] || cell[key] === chosen[key]; });
    }

    // -- filters

    function values(key) {
        return cells.map(function (cell) { return cell[key]; }).filter(function (value, i, all) {
            return all.indexOf(value) === i;
        });
    }

    function addSelect(label, id, options, change) {
        var field = d3.select("#filters").append("label").attr("for", id).text(label + " ");
        var select = field.append("select").attr("id", id);
        options.forEach(function (option) { select.append("option").attr("value", option[0]).text(option[1]); });
        select.on("change", function () { change(this.value); update(); });
    }

    function addFilters() {
        keys.forEach(function (key) {
            var found = values(key);
            if (found.length > 1)
                addSelect(key.replace("_", " "), "filter-" + key,
                          [["", "all"]].concat(found.map(function (value) { return [value, value]; })),
                          function (value) { chosen[key] = value; });
        });
        var counters = {};
        cells.forEach(function (cell) { Object.keys(cell.counters).forEach(function (name) { counters[name] = 1; }); });
        addSelect("time against", "quantity", ["elements"].concat(Object.keys(counters)).map(function (name) {
            return [name, name.replace(/_/g, " ")];
        }), function (value) { quantity = value; });
        d3.select("#filters").append("button").attr("type", "reset").text("Show all").on("click", function () {
            chosen = {}; quantity = "elements";
            setTimeout(update, 0);
        });
    }

    function linked(link) { return byHref[link.getAttribute("href")]; }

    // A row is there while any cell that it is about is; of others in it nothing is seen.
    function filterTables() {
        d3.selectAll("main tbody tr").each(function () {
            var links = [].slice.call(this.querySelectorAll("a")).filter(linked);
            if (!links.length) return;
            var left = links.filter(function (link) { return isShown(linked(link)); });
            this.hidden = !left.length;
            links.forEach(function (link) { link.classList.toggle("out", left.indexOf(link) < 0); });
        });
    }

    // -- the chart

    function ticks(scale) {
        var ends = scale.domain(), made = [];
        for (var power = Math.floor(Math.log10(ends[0])); power <= Math.ceil(Math.log10(ends[1])); power++)
            if (Math.pow(10, power) >= ends[0] && Math.pow(10, power) <= ends[1]) made.push(Math.pow(10, power));
        return made.length > 1 ? made : ends;
    }

    function domain(found) {
        var low = d3.min(found), high = d3.max(found);
        return low < high ? [low / 1.15, high * 1.15] : [low / 2, high * 2];
    }

    function line(x1, y1, x2, y2, color) {
        svg.append("line").attr("x1", x1).attr("y1", y1).attr("x2", x2).attr("y2", y2).attr("stroke", color);
    }

    function label(x, y, anchor, text) {
        return svg.append("text").attr("x", x).attr("y", y).attr("text-anchor", anchor).text(text);
    }

    function drawAxes(x, y) {
        ticks(x).forEach(function (value) {
            line(x(value), box.top, x(value), box.bottom, "#e0e0e0");
            label(x(value), box.bottom + 18, "middle", tickText(value));
        });
        ticks(y).forEach(function (value) {
            line(box.left, y(value), box.right, y(value), "#e0e0e0");
            label(box.left - 8, y(value) + 4, "end", timeText(value).replace(/\.0+ /, " "));
        });
        label((box.left + box.right) / 2, box.bottom + 42, "middle", quantity.replace(/_/g, " ") + " (above 0)");
    }

    function drawLegend() {
        values("path").filter(function (path) {
            return points.some(function (cell) { return cell.path === path; });
        }).forEach(function (path, i) {
            var place = box.top + 10 + 20 * i;
            mark(svg.append("path"), path, box.right + 24, place);
            label(box.right + 36, place + 4, "start", path);
        });
    }

    function mark(drawn, path, x, y) {
        return drawn.attr("d", shapes[look(path)[1]] || shapes.o).attr("fill", look(path)[0]).attr("stroke", "#000")
            .attr("stroke-width", 0.6).attr("transform", "translate(" + x + "," + y + ")");
    }

    function draw() {
        svg.selectAll("*").remove();
        points = cells.filter(function (cell) { return isShown(cell) && cell.time > 0 && xOf(cell) > 0; });
        if (!points.length) { label(480, 220, "middle", "No cell has both a time and this quantity above 0."); return; }
        var x = logarithm().domain(domain(points.map(xOf))).range([box.left, box.right]);
        var y = logarithm().domain(domain(points.map(function (cell) { return cell.time; }))).range([box.bottom, box.top]);
        points.sort(function (a, b) { return xOf(a) - xOf(b) || a.time - b.time; });
        drawAxes(x, y);
        points.forEach(function (cell) {
            if (cell.low && cell.high) line(x(xOf(cell)), y(cell.low), x(xOf(cell)), y(cell.high), "#000");
            cell.mark = mark(svg.append("path"), cell.path, x(xOf(cell)), y(cell.time)).attr("class", "point")
                .on("mouseenter", function () { show(cell, this); }).on("mouseleave", leave)
                .on("click", function () { location.href = cell.href; }).node();
        });
        drawLegend();
    }

    // -- what is said of a cell

    var leaving;

    function leave() { clearTimeout(leaving); leaving = setTimeout(hide, 250); }

    function hide() { tip.node().hidden = true; d3.selectAll(".point.at").classed("at", false); }

    function show(cell, near) {
        clearTimeout(leaving);
        tip.selectAll("*").remove();
        tip.append("strong").text(cell.name);
        var lines = [cell.file, cell.time ? (cell.modelled ? "modelled " : "") + timeText(cell.time) +
                     (cell.low ? " [" + timeText(cell.low) + ", " + timeText(cell.high) + "]" : "") : cell.status];
        if (cell.ratio) lines.push(numberText(+cell.ratio.toPrecision(4)) + " × global");
        if (cell.flags) lines.push(cell.flags);
        if (quantity in cell.counters) lines.push(quantity + " " + numberText(cell.counters[quantity]));
        lines.forEach(function (text) { tip.append("span").text(text); });
        var node = tip.node(), place = near.getBoundingClientRect();
        node.hidden = false;
        node.style.left = Math.max(4, Math.min(place.left, document.documentElement.clientWidth - node.offsetWidth - 8)) + "px";
        node.style.top = (place.bottom + node.offsetHeight + 8 < window.innerHeight ? place.bottom + 4
                          : Math.max(4, place.top - node.offsetHeight - 4)) + "px";
    }

    function go(step) {
        if (!points.length) return;
        at = (at + step + points.length) % points.length;
        hide();
        d3.select(points[at].mark).classed("at", true);
        show(points[at], points[at].mark);
    }

    svg.on("keydown", null).node().addEventListener("keydown", function (event) {
        if (event.key === "ArrowRight" || event.key === "ArrowLeft") { go(event.key === "ArrowRight" ? 1 : -1); event.preventDefault(); }
        if (event.key === "Enter" && points[at]) location.href = points[at].href;
    });
    svg.node().addEventListener("blur", hide);
    document.addEventListener("keydown", function (event) { if (event.key === "Escape") hide(); });
    tip.on("mouseenter", function () { clearTimeout(leaving); }).on("mouseleave", leave);
    ["mouseover", "focusin"].forEach(function (name) {
        document.addEventListener(name, function (event) {
            var link = event.target.closest && event.target.closest("a");
            if (link && linked(link)) show(linked(link), link);
        });
    });
    ["mouseout", "focusout"].forEach(function (name) {
        document.addEventListener(name, function (event) {
            if (event.target.closest && event.target.closest("a")) leave();
        });
    });

    function update() {
        var count = cells.filter(isShown).length;
        at = -1;
        hide();
        draw();
        filterTables();
        d3.select("#shown").text(count + " of " + cells.length + " cells, " + points.length + " in the chart");
    }

    addFilters();
    update();
}());
