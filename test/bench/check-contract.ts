/**
 * `npm run contract:speed`: fails if the contract in process is much slower, beside checks by hand, than it should be. Both take turns of a
 * millisecond, and the best of many counts, so that other work on the machine does not decide it.
 */
import { compareParsing } from "./contract.ts";

/** Measured: 0.78 and 0.86, the same beside six busy processes, and once 0.68. Reading each text for repeated keys makes it 0.57 and 0.61. */
const minRatio = 0.62;

const rows = await compareParsing({ rounds: (usual) => usual, beforeRound() {} });
for (const { name, ours, baseline } of rows) {
  const ratio = (ours / baseline).toFixed(2);
  process.stdout.write(`${name}: ${ratio} of the requests per second of checks by hand\n`);
  if (Number(ratio) >= minRatio) continue;
  process.stderr.write(
    `The contract is too slow: at least ${minRatio} is expected. Profile it: node --cpu-prof test/bench/check-contract.ts\n`,
  );
  process.exitCode = 1;
}
