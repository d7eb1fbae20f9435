/** Ends the processes whose ids it was told (and not told away again) once its input ends: a stopped one hears of nothing itself. */
const { createInterface } = require("node:readline");

const pids = new Set();
createInterface({ input: process.stdin })
  .on("line", (line) => (line.startsWith("-") ? pids.delete(line.slice(1)) : pids.add(line)))
  .once("close", () => {
    for (const pid of pids) {
      try {
        process.kill(Number(pid), "SIGKILL");
      } catch {
        // It is gone already.
      }
    }
  });
