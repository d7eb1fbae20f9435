/** Locks the folder until this process is killed. */
import { lockFolder } from "@sekisho/local/folder-lock.ts";

const [, , folder = ""] = process.argv;
const lock = lockFolder({ folder });
process.stdout.write("locked\n");
// Keeps a reference, so that it is not collected.
setInterval(() => lock, 1000);
