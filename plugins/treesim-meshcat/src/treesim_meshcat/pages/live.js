// A page that shows what the program that serves it computes.

const stage = openStage();
const session = new Session(stage, new SocketLink());
const reference = new Reference(session);
const grab = new Grab(session);
const panel = new Panel(session, grab);
const inspector = new Inspector(session, grab);
panel.tree.choose = (link) => inspector.open(link);
openApi(session);
const program = new Program(session, grab);
