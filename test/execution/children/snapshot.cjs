/**
 * Loaded before the entry (`--require`), makes the process one that was restored from a snapshot: its monotonic clock has run for 30 hours,
 * and each draw of something random is a line on stderr, because a draw before the snapshot is the same in every session.
 */
const crypto = require("node:crypto");
const { syncBuiltinESMExports } = require("node:module");

const monotonic = performance.now.bind(performance);
Object.defineProperty(performance, "now", { value: () => monotonic() + 30 * 3600_000 });

function report(owner, name) {
  const draw = owner[name];
  Object.defineProperty(owner, name, {
    value(...args) {
      process.stderr.write(
        `DRAWN ${name} ${JSON.stringify(args[0]?.disableEntropyCache ?? null)}\n`,
      );
      return draw.apply(this, args);
    },
  });
}

for (const name of ["randomUUID", "randomBytes", "randomFillSync", "randomInt"])
  report(crypto, name);
for (const name of ["randomUUID", "getRandomValues"])
  report(Object.getPrototypeOf(globalThis.crypto), name);
report(Math, "random");
syncBuiltinESMExports();
