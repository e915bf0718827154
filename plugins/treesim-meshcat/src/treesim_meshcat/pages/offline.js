// A page that carries its robot's physics.

const stage = openStage();
const session = new Session(stage, new WorkerLink(parseScene(element("scene").textContent)));
const reference = new Reference(session);
const grab = new Grab(session);
const panel = new Panel(session, grab);
const inspector = new Inspector(session, grab);
panel.tree.choose = (link) => inspector.open(link);
openApi(session);
