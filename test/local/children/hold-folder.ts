/** Locks the folder that it is given and holds it until it is killed. */
import { lockFolder } from "../../../lib/local/engine.ts";

const [, , folder = ""] = process.argv;
const lock = lockFolder({ folder });
process.stdout.write("locked\n");
// Held here, so that nothing collects it.
setInterval(() => lock, 1000);
