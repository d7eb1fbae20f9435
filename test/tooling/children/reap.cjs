/** Kills processes when its input ends. It reads their ids, one a line; a minus in front removes an id again. */
const { createInterface } = require("node:readline");

const pids = new Set();
createInterface({ input: process.stdin })
  .on("line", (line) => (line.startsWith("-") ? pids.delete(line.slice(1)) : pids.add(line)))
  .once("close", () => {
    for (const pid of pids) {
      try {
        process.kill(Number(pid), "SIGKILL");
      } catch {
        // The process is gone.
      }
    }
  });
