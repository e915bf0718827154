// States of the robot that a user stores, goes back to, and copies as text: its time, configuration and velocity.

class States {
    constructor(session, complain) {
        this.session = session;
        this.complain = complain;
        this.list = make("div", {id: "states", className: "listed"});
        this.text = make("input", {id: "state_text", placeholder: "paste a state to load it", ariaLabel: "state as text", spellcheck: false});
        this.text.addEventListener("change", () => this.paste(this.text.value));
        session.on("scene", () => this.list.replaceChildren());
    }

    rows() {
        const store = this.button("store state", "store_state", () => this.store()), copy = this.button("copy state", "copy_state", () => this.copy(this.now()));
        return [make("div", {className: "buttons"}, store, copy), this.list, make("div", {className: "row one"}, this.text)];
    }

    button(textContent, id, pressed) {
        const made = make("button", {textContent, type: "button"});
        if (id) made.id = id;
        made.addEventListener("click", pressed);
        return made;
    }

    now() {
        const {t, q, v} = this.session.state, {robot} = this.session.panel;
        return {robot, t, q, v};
    }

    store() {
        const state = this.now(), line = make("div", {className: "check"});
        const remove = this.button("×", "", () => line.remove());
        remove.title = remove.ariaLabel = "remove this state";
        line.append(make("span", {className: "name", textContent: `${state.t.toFixed(3)} s`}), this.button("load", "", () => this.load(state)), this.button("copy", "", () => this.copy(state)), remove);
        this.list.append(line);
    }

    // A recording is played from there; a simulation gets the state.
    load(state) {
        if (this.session.panel.replay) this.session.do("seek", {t: state.t});
        else this.session.do("put", {q: state.q, v: state.v});
    }

    // The text is also shown, as browsers may keep pages away from the clipboard.
    copy(state) {
        this.text.value = JSON.stringify(state);
        this.text.select();
        if (navigator.clipboard) navigator.clipboard.writeText(this.text.value).catch(() => {});
    }

    paste(text) {
        try {
            const {q, v, t} = JSON.parse(text);
            if (!Array.isArray(q)) throw new Error("it has no q");
            this.load({q, v, t});
        } catch (error) {
            this.complain(`this is no state: ${error.message}; it looks as {"q": [0, 0.1], "v": [0, 0]}`);
        }
    }
}
