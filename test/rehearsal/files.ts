/** Files that go through the bot in both directions, told once for all kinds. */

import { taskSchema } from "../../lambdas/verification/task/task.ts";
import type { FakeSlackMessage } from "../../lib/local/fake-slack/messages.ts";
import type { World } from "./world.ts";
import { openZoneTables } from "./zone-tables.ts";

const bytes = new TextEncoder().encode("What nobody else is to read: 関所\n");

export type Read = { status: number; text: string; type: string | null; mayBeShown: boolean };

/**
 * A file comes with a message, and is read as the agent is told to: by the URL in its params, without any credential. (The
 * agent itself cannot: from its zone only public addresses are read.) Meanwhile the agent makes a file of its own, which comes
 * with its answer. Resolves to what was read, and to the bot's messages.
 */
export async function isReadByUrl(world: World): Promise<{ wanted: string; read: Read; answers: FakeSlackMessage[] }> {
  const text = "slow 2s, and a file";
  const files = [{ name: "notes.txt", mimetype: "text/plain", bytes }];
  const { message, requestId } = world.fakeSlack.ask({ eventsUrl: world.eventsUrl, text, files });
  const tables = openZoneTables(world);
  const tasks = tables.storeOf({ zone: "verification", parse: (json) => taskSchema.parse(json) });
  try {
    const url = await world.until("attachment in the params of the task", async () => {
      const task = await tasks.get({ id: requestId });
      return task?.call?.params?.attachments?.[0]?.url;
    });
    const read = await readUrl(url);
    const answers = await world.until("answer with its file", () => {
      const posts = world.answersTo(message);
      const isTold = posts.some((post) => /slow 2s, and a file/.test(post.text));
      return isTold && posts.some((post) => post.files?.length) ? posts : undefined;
    });
    return { wanted: new TextDecoder().decode(bytes), read, answers };
  } finally {
    tables.close();
  }
}

async function readUrl(url: string): Promise<Read> {
  const response = await fetch(url, { signal: AbortSignal.timeout(10_000) });
  const { status, headers } = response;
  const mayBeShown = headers.get("content-disposition") !== "attachment";
  return { status, text: await response.text(), type: headers.get("content-type"), mayBeShown };
}
