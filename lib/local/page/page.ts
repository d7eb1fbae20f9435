/** The local page: what a Slack user would see, and beside it the timeline of each task. The Verification zone's own server serves it. */

import type { FakeSlack } from "../fake-slack/fake-slack.ts";
import { findFakePerson } from "../fake-slack/workspace.ts";
import { type RecordedSlack, watchFakeSlack } from "../recorder/slack-steps.ts";
import { Refusal } from "../web/admission.ts";
import type { Door } from "../web/door.ts";
import { createEventStreams } from "../web/event-streams.ts";
import { appDocument, clientRoutes } from "../web/files.ts";
import type { Prompt } from "../web/local-events.ts";
import { createSite, type Handler, type Site, sendPage } from "../web/site.ts";
import { createActionRoutes } from "./actions.ts";
import { createChangeFeed } from "./changes.ts";
import { imageTypes } from "./message-view.ts";

/** `handle` is for `startVerificationServer`. Call `close` before the server's, so that open streams do not hold it up. */
export type LocalPage = Site & { close(): void };

const maxFileBytes = 25 * 1024 * 1024;
const maxNameLength = 255;

/** `examples` are messages that the page offers. */
type PageOptions = RecordedSlack & { door: Door; examples?: readonly Prompt[] };

/**
 * The page makes the fake Slack sign requests to the `/slack/events` of the same server. So it answers only its own tab, in a browser
 * that came by the printed address.
 */
export function createPage(options: PageOptions): LocalPage {
  const { fakeSlack, stepRecorder, door } = options;
  const streams = createEventStreams();
  const watch = createChangeFeed(options);
  watchFakeSlack({ fakeSlack, stepRecorder });
  const site = createSite({
    home: "/",
    isOwn: (address) => address === "/" || /^\/(local|web)\//.test(address),
    admission: door,
    openRoutes: clientRoutes(),
    routes: {
      "GET /": appDocument({
        ...{ page: "local", title: "Sekisho on this machine" },
        // Not 'self', because this host also serves files that people attached.
        sources: (host) => ({
          code: `http://${host}/web/`,
          images: `data: http://${host}/local/files/`,
        }),
      }),
      "GET /local/events": (exchange) => streams.open(exchange, { watch }),
      "POST /local/files": receiveFile(fakeSlack),
      "GET /local/files/*": serveFile(fakeSlack),
      ...createActionRoutes({ fakeSlack, stepRecorder }),
    },
  });
  return { ...site, close: streams.close };
}

/** `POST /local/files?name=…&type=…&user=…` with the bytes. Answers with the id for a message that brings the file along. */
function receiveFile(fakeSlack: FakeSlack): Handler {
  return async ({ query, bytes: readBytes }) => {
    const bytes = await readBytes({ type: "application/octet-stream", maxBytes: maxFileBytes });
    const name = query.get("name") ?? "";
    if (name === "" || name.length > maxNameLength || bytes.byteLength === 0) {
      throw new Refusal(400, "Choose a file that has a name and is not empty.");
    }
    const user = findFakePerson(query.get("user") ?? undefined)?.id;
    const mimetype = query.get("type") || "application/octet-stream";
    const { id } = fakeSlack.upload({ name, mimetype, bytes, ...(user !== undefined && { user }) });
    return { id };
  };
}

/** Images are shown. Everything else can only be saved, whatever type it claims, so that a file never becomes a page of this server. */
function serveFile(fakeSlack: FakeSlack): Handler {
  return ({ parts: [id = ""], response }) => {
    const file = fakeSlack.file(id);
    if (file === undefined) throw new Refusal(404, "This file does not exist.");
    const isImage = imageTypes.includes(file.mimetype);
    sendPage(response, {
      type: isImage ? file.mimetype : "application/octet-stream",
      body: file.bytes,
      headers: {
        // A file never changes, and each drawing of the page asks for its images again.
        "cache-control": "private, max-age=3600, immutable",
        "content-disposition": `${isImage ? "inline" : "attachment"}; filename*=UTF-8''${encodeURIComponent(file.name)}`,
        "content-security-policy": "default-src 'none'; sandbox",
      },
    });
  };
}
