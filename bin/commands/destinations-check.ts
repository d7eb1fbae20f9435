/** `sekisho destinations check`: calls destinations for real, with the credentials at hand. */
import { parseArgs } from "node:util";
import { callerIdentity } from "../aws/account.ts";
import { type Checked, checkDestination, usesAws } from "../destinations/check.ts";
import { configInForce } from "../destinations/in-force.ts";
import { surroundingsOf } from "../destinations/surroundings.ts";
import { type Command, exitCodes, UsageError } from "./command.ts";

export const destinationsCheck: Command = {
  help: `
sekisho destinations check [NAME...] [--stage S] [--json] [--config FILE]

Calls rpc.discover of each destination, or of those that are named, with real credentials: whether it can be used,
how long a first and a second call take, and what it is; or why not, and what to do about it. A peer that does not
know the method but says so in JSON-RPC is healthy. Of an A2A agent it reads the card and asks for a task that the
agent cannot know. No task is run.

  --stage S      as they are in that stage: the deployed ones with what was pushed since. The calls are made from
                 here and with your credentials, which may be permitted other things than the Verification role's
  --json         one JSON object a destination, a line each
  --config FILE  instead of ./sekisho.config.json

Exit code: 0 all are healthy; 1 one is not, or AWS refused; 2 bad usage or configuration; 3 none answers, or AWS does not.
`,
  async run({ words, directory, signal, print, note }) {
    const { values, positionals } = parseArgs({
      args: words,
      allowPositionals: true,
      options: { stage: { type: "string" }, json: { type: "boolean", default: false }, config: { type: "string" } },
    });
    const place = { directory, file: values.config };
    const { config, named, notDeployed } = await configInForce({ place, stage: values.stage, signal });
    const known = Object.keys(config.destinations);
    const unknown = positionals.find((name) => !known.includes(name));
    if (unknown !== undefined) {
      throw new UsageError(`There is no destination "${unknown}". Known: ${known.join(", ")}.`);
    }
    const wanted = Object.entries(config.destinations).filter(
      ([name]) => positionals.length === 0 || positionals.includes(name),
    );
    const surroundings = surroundingsOf({ config, named, place, signal });
    const { region } = surroundings;
    for (const name of notDeployed.filter((each) => wanted.some(([other]) => other === each))) {
      note(`Note: ${name} is checked as the file has it; it is not deployed so.`);
    }
    if (wanted.some(([, destination]) => usesAws(destination))) note(await callerText({ region, signal }));
    const checked = await Promise.all(
      wanted.map(([name, destination]) => checkDestination({ ...surroundings, name, destination })),
    );
    for (const each of checked) print(values.json ? JSON.stringify(each) : checkedText(each));
    if (signal.aborted) return exitCodes.interrupted;
    return exitCodeOf(checked);
  },
};

async function callerText({ region = "us-east-1", signal }: { region: string | undefined; signal: AbortSignal }) {
  return callerIdentity({ region, signal }).then(
    ({ arn }) => `Calls that AWS vouches for are made as ${arn}. The Verification role may be permitted other things.`,
    (thrown: Error) => `Whose credentials these are cannot be told. ${thrown.message}`,
  );
}

function exitCodeOf(checked: readonly Checked[]): number {
  if (checked.every(({ health }) => health === "healthy")) return exitCodes.success;
  return checked.every(({ health }) => health === "unreachable") ? exitCodes.notReachable : exitCodes.failed;
}

function checkedText({ name, address, health, words, methods, firstMs, secondMs }: Checked): string {
  const times = firstMs === undefined ? "" : `, first call ${firstMs} ms, second ${secondMs} ms`;
  const known = methods === undefined ? "" : `\n  methods: ${methods.join(", ")}`;
  return `${name}: ${health}${times}\n  ${address}\n  ${words}${known}`;
}
