/** The books of two zones that are processes on one machine: their sqlite files, and the file that the agent writes. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openDatabase } from "../../../lambdas/shared/engine/sqlite/database.ts";
import { queueMessageSchema, toWakeSeq } from "../../../lambdas/verification/task/messages.ts";
import { openSqliteEngine } from "../../../lib/local/engine.ts";
import { parseAgentLog } from "./agent-log.ts";
import type { Books } from "./books.ts";
import { readStores } from "./read-stores.ts";

export function openSqliteBooks({ folder }: { folder: string }): Books {
  const fileOf = (zone: string) => join(folder, ".sekisho", `${zone}.db`);
  const verification = openSqliteEngine({ file: fileOf("verification") });
  const execution = openSqliteEngine({ file: fileOf("execution") });
  const database = openDatabase({ file: fileOf("verification") });
  const messages = database.prepare("SELECT queue, body FROM messages ORDER BY seq");
  const stores = readStores({ verification: verification.taskStore, execution: execution.taskStore });
  const agentFile = join(folder, "agent.log");
  return {
    ...stores,
    async queued() {
      const lines = (messages.all() as { queue: string; body: string }[]).map(async ({ queue, body }) => {
        const message = queueMessageSchema.parse(JSON.parse(body));
        if (message.type === "button_click" || message.type === "conversation_opened")
          return [`a ${message.type} is in the queue ${queue}`];
        const task = await stores.record(message.requestId);
        const isSpent = task !== undefined && toWakeSeq({ message, task }) < task.wakeSeq;
        return isSpent ? [] : [`${message.requestId}: a message ${message.type} is in the queue ${queue}`];
      });
      return (await Promise.all(lines)).flat();
    },
    agentLog: () => (existsSync(agentFile) ? parseAgentLog(readFileSync(agentFile, "utf8")) : []),
    async close() {
      await verification.close();
      await execution.close();
      await database.close();
    },
  };
}
