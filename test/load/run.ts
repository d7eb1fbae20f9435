/** `npm run load`: a load run and its figures. */
import { parseArgs } from "node:util";
import { runLoad } from "./load.ts";

process.exitCode = await main(process.argv.slice(2));

async function main(words: string[]): Promise<number> {
  const { values } = parseArgs({
    args: words,
    options: {
      tasks: { type: "string", default: "1000" },
      "at-once": { type: "string", default: "100" },
      failing: { type: "string", default: "10" },
      seed: { type: "string", default: "1" },
    },
  });
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort());
  const report = await runLoad({
    tasks: Number(values.tasks),
    atOnce: Number(values["at-once"]),
    failing: Number(values.failing) / 100,
    seed: Number(values.seed),
    signal: stop.signal,
    onProgress: (progress) => console.log(JSON.stringify(progress)),
  });
  console.log(JSON.stringify({ ...report, problems: report.problems.length }, null, 1));
  console.log(report.problems.slice(0, 20).join("\n"));
  return report.problems.length === 0 ? 0 : 1;
}
