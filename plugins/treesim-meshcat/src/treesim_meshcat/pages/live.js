// A page whose physics runs in the program that serves it.

const stage = openStage();
const session = new Session(stage, new SocketLink());
const grab = new Grab(session);
const panel = new Panel(session, grab);
const inspector = new Inspector(session, grab);
openApi(session);
