/**
 * The Slack of a load run of the aws engine, in process. The posts are in sqlite, outside the heap and with an index: the Slack in memory of
 * other tests searches all posts at each call, and takes 9 s for 10,000 tasks where this one takes 0.2 s.
 */
import { DatabaseSync } from "node:sqlite";
import {
  type PostedMessage,
  type SlackApi,
  SlackError,
} from "@sekisho/verification/slack/api/slack.ts";

/** `answered` counts the tasks whose only post is their answer. */
export type LoadSlack = { api: SlackApi; answered(): number; posts(): number; close(): void };

export function openLoadSlack({
  newTs,
  onCall,
}: {
  newTs: () => string;
  /** Gets the name of the method of the Web API. */
  onCall: (method: string) => void;
}): LoadSlack {
  const database = new DatabaseSync(":memory:");
  database.exec(`
    CREATE TABLE posts (ts TEXT PRIMARY KEY, thread TEXT, text TEXT, key TEXT) WITHOUT ROWID;
    CREATE INDEX threads ON posts (thread);
  `);
  const insert = database.prepare("INSERT INTO posts VALUES (?, ?, ?, ?)");
  const update = database.prepare("UPDATE posts SET text = ?, key = ? WHERE ts = ?");
  const remove = database.prepare("DELETE FROM posts WHERE ts = ?");
  const inThread = database.prepare("SELECT * FROM posts WHERE thread = ? ORDER BY ts");
  const count = (condition: string) =>
    Number(database.prepare(`SELECT COUNT(*) AS count FROM posts WHERE ${condition}`).get()?.count);

  const unexpected = async () => Promise.reject(new SlackError("refused"));
  const calls: Partial<SlackApi> = {
    async post({ channel, threadTs, content: { text }, key }) {
      onCall("chat.postMessage");
      const ts = newTs();
      insert.run(ts, `${channel}/${threadTs ?? ts}`, text, JSON.stringify(key));
      return { ts };
    },
    async update({ ts, content: { text }, key }) {
      onCall("chat.update");
      if (update.run(text, JSON.stringify(key), ts).changes !== 1)
        throw new SlackError("no_such_message");
    },
    async remove({ ts }) {
      onCall("chat.delete");
      remove.run(ts);
    },
    async react({ present }) {
      onCall(present ? "reactions.add" : "reactions.remove");
    },
    async replies({ channel, threadTs }) {
      onCall("conversations.replies");
      const rows = inThread.all(`${channel}/${threadTs}`);
      return rows.map(
        ({ ts, text, key }): PostedMessage => ({
          ts: String(ts),
          text: String(text),
          key: JSON.parse(String(key)),
          from: "self",
          user: undefined,
          fileIds: [],
        }),
      );
    },
    async person() {
      onCall("users.info");
      return { locale: "en-US", workspaces: [], organization: undefined };
    },
    async setStatus() {
      onCall("assistant.threads.setStatus");
    },
  };
  const api = new Proxy(calls, {
    get: (_, name) => Reflect.get(calls, name) ?? unexpected,
  }) as SlackApi;
  return {
    api,
    answered: () => count("key ->> 'kind' = 'answer' AND key ->> 'index' = 0"),
    posts: () => count("TRUE"),
    close: () => database.close(),
  };
}
