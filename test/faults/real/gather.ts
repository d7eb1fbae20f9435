/** Gathers what is known of each message: what Slack shows, what the zones stored, what the agent did. */

import { metadataSchema, readPostKey } from "../../../lambdas/verification/slack/api/posts.ts";
import type { FakeSlack } from "../../../lib/local/fake-slack/fake-slack.ts";
import { workspace } from "../../../lib/local/fake-slack/workspace.ts";
import { type Books, overlapsOf } from "./books.ts";
import type { Evidence } from "./checks.ts";
import type { Message } from "./people.ts";

type Gathering = { messages: readonly Message[]; fakeSlack: FakeSlack; books: Books };

/** Resolves to the evidence by request id. */
export async function gatherEvidence({ messages, fakeSlack, books }: Gathering): Promise<Map<string, Evidence>> {
  const posts = postsOfBot(fakeSlack);
  const entries = books.agentLog();
  const overlaps = overlapsOf(entries);
  const hostTasks = await books.hostTasks();
  const starts = entries.filter(({ what }) => what === "start");
  const evidence = messages.map(async ({ requestId, kind, delivered, message }): Promise<Evidence> => {
    const { status } = await delivered;
    return {
      requestId,
      kind,
      isTaken: status === 200,
      posts: posts.filter((post) => post.requestId === requestId),
      files: kind === "filed" ? posts.filter((post) => isOfFiles(post) && post.threadTs === message.ts).length : 0,
      starts: starts.filter((entry) => entry.requestId === requestId).length,
      overlaps: overlaps.get(requestId) ?? [],
      record: await books.record(requestId),
      hostTask: hostTasks.get(requestId),
    };
  });
  return new Map((await Promise.all(evidence)).map((each) => [each.requestId, each]));
}

/** Finds what must not be left in the end: posts, queue messages and places in threads that belong to nothing. */
export async function gatherLeftovers({ messages, fakeSlack, books }: Gathering): Promise<string[]> {
  const known = new Set(messages.map(({ requestId }) => requestId));
  const filed = new Set(messages.filter(({ kind }) => kind === "filed").map(({ message }) => message.ts));
  const strays = postsOfBot(fakeSlack).filter((post) =>
    isOfFiles(post) ? !filed.has(post.threadTs ?? "") : post.requestId === undefined || !known.has(post.requestId),
  );
  const held = (await books.threads()).flatMap(({ tasks }) => tasks);
  return [
    ...strays.map(({ ts }) => `The post ${ts} of the bot belongs to no message.`),
    ...(await books.queued()),
    ...held.map(({ id }) => `${id}: it was left in the record of its thread`),
  ];
}

function postsOfBot(fakeSlack: FakeSlack) {
  const posts = fakeSlack.messages().filter(({ user }) => user === workspace.botUser);
  return posts.map(({ metadata, text, ts, threadTs, files = [] }) => {
    const key = readPostKey(metadataSchema.parse(metadata));
    return { requestId: key?.requestId, part: key?.part ?? -1, text, ts, threadTs, files: files.length };
  });
}

/** Slack posts the files of an answer itself, without our metadata. */
function isOfFiles({ requestId, files }: { requestId: string | undefined; files: number }): boolean {
  return requestId === undefined && files > 0;
}
