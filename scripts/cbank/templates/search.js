// SPDX-License-Identifier: MIT
// The search of the gallery: cells that have all words. `cells` stands above.
"use strict";
const MOST = 20;  // rows that are shown
const search = document.getElementById("search");
const texts = cells.map((cell) => cell.join(" ").toLowerCase());

function show() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = cells.filter((_, i) => words.every((word) => texts[i].includes(word)));
    document.getElementById("rows").replaceChildren(...found.slice(0, MOST).map((cell) => {
        const row = document.createElement("tr");
        cell.forEach((text, i) => {
            const its = document.createElement(i ? "td" : "th");
            its.textContent = text;
            its.className = i === 1 || i > 4 ? "t" : "";
            row.append(its);
        });
        return row;
    }));
    const shown = found.length > MOST ? `, the first ${MOST} shown` : "";
    document.getElementById("count").textContent = `${found.length} of ${cells.length} cells${shown}`;
}

search.addEventListener("input", show);
show();
