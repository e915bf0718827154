// The tree of links: each can be hidden and shown, and its name opens its card, where a page has cards.

const INDENT_PX = 10, DEEPEST = 12;

class LinkTree {
    constructor(stage) {
        this.stage = stage;
        this.choose = (i) => this.show([i], !this.boxes[i].checked);  // a link, by its number
        this.links = [];
        this.boxes = [];
        this.list = make("div", {id: "links", className: "listed"});
    }

    rows() {
        const all = make("button", {textContent: "show all", id: "show_links", type: "button"});
        all.addEventListener("click", () => this.show(this.links.keys(), true));
        return [this.list, make("div", {className: "buttons"}, all)];
    }

    begin(links) {
        this.links = links;
        const depths = [], children = links.map(() => []);
        links.forEach(({parent}, i) => { if (i > 0) children[parent].push(i); });
        this.children = children;
        this.boxes = links.map(({name}, i) => {
            const box = make("input", {type: "checkbox", checked: true, id: `link_${i}`, title: `show ${name}; with Shift, also what it moves`});
            box.addEventListener("click", (event) => this.show(event.shiftKey ? this.subtree(i) : [i], box.checked));
            return box;
        });
        const lines = this.subtree(0).map((i) => {
            depths[i] = i === 0 ? 0 : depths[links[i].parent] + 1;
            const name = make("button", {textContent: links[i].name, className: "name", type: "button"});
            name.addEventListener("click", () => this.choose(i));
            const line = make("div", {className: "check"}, this.boxes[i], name);
            line.style.paddingLeft = `${INDENT_PX * Math.min(depths[i], DEEPEST)}px`;
            return line;
        });
        this.list.replaceChildren(...lines);
    }

    // A link and all that it moves, depth first.
    subtree(i) {
        return [i, ...this.children[i].flatMap((child) => this.subtree(child))];
    }

    show(links, shown) {
        for (const i of links) {
            this.boxes[i].checked = shown;
            this.stage.bodies[i].visible = shown;
        }
        this.stage.viewer.set_dirty();
    }
}
