/** `sekisho dead-letters list`: what a stage's workers gave up on. */
import { parseArgs } from "node:util";
import { loadConfig } from "../../lambdas/shared/config/load.ts";
import type { QueueMessage } from "../../lambdas/verification/task/messages.ts";
import { withDeadLetters } from "../aws/dead-letters/archive.ts";
import { type ReadLetter, readLetter } from "../aws/dead-letters/read-letter.ts";
import { createStateOfTask } from "../aws/dead-letters/task-state.ts";
import { readStackOutputs } from "../aws/stack-outputs.ts";
import { chooseStage } from "../aws/stage.ts";
import { type Command, exitCodes } from "./command.ts";

export const deadLettersList: Command = {
  help: `
sekisho dead-letters list [--stage NAME] [--json] [--config FILE]

Lists the messages that a stage's workers gave up on, with the state of their tasks. Their users have been told;
the messages are kept for 14 days. For the length of the listing nobody else sees them; nothing is lost by it.
On one machine there is no such list: there a dead letter only fails its task.

  --stage NAME   of the configuration's stages; without it the first
  --json         as a JSON array
  --config FILE  instead of ./sekisho.config.json

Task "none" means that the task was never begun. Exit code: 0; 1 AWS refused; 2 bad usage; 3 AWS not reachable.
`,
  async run({ words, directory, signal, print, note }) {
    const { values } = parseArgs({
      args: words,
      options: { stage: { type: "string" }, json: { type: "boolean" }, config: { type: "string" } },
    });
    const named = chooseStage(loadConfig({ directory, file: values.config }), values.stage);
    const { deadLettersUrl, tableName } = await readStackOutputs({ ...named, signal });
    const { region } = named.stage.verification;
    const stateOfTask = createStateOfTask({ tableName, region, signal });
    await withDeadLetters({ queueUrl: deadLettersUrl, region, signal }, async (letters) => {
      const rows: Row[] = [];
      for (const letter of letters.map(readLetter)) {
        const requestId = letter.message?.requestId;
        rows.push(rowOf(letter, requestId === undefined ? undefined : await stateOfTask({ requestId })));
      }
      rows.sort((a, b) => (a.archivedAt < b.archivedAt ? -1 : 1));
      if (values.json) print(JSON.stringify(rows, null, 2));
      else for (const row of rows) print(lineOf(row));
      if (rows.length === 0) note(`Stage ${named.stageName} has no dead letters.`);
    });
    return exitCodes.success;
  },
};

type Row = {
  messageId: string;
  archivedAt: string;
  kind: QueueMessage["type"] | "unreadable";
  /** Null where the message cannot be read. */
  requestId: string | null;
  task: string;
};

function rowOf({ messageId, archivedAtMs, message }: ReadLetter, state: string | undefined): Row {
  return {
    messageId,
    archivedAt: new Date(archivedAtMs).toISOString(),
    kind: message?.type ?? "unreadable",
    requestId: message?.requestId ?? null,
    task: state ?? "none",
  };
}

function lineOf({ archivedAt, kind, requestId, task, messageId }: Row): string {
  if (requestId === null) return `${archivedAt}  unreadable (message ${messageId})`;
  return `${archivedAt}  ${requestId}  ${kind.padEnd(7)}  task: ${task}`;
}
