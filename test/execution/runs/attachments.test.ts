import { createHash } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import type { Agent } from "@sekisho/execution/agents/agent.ts";
import { createLocalAttachmentFetch } from "@sekisho/execution/runs/attachments.ts";
import { createPublicFetch, type PublicFetch } from "@sekisho/runtime/public-fetch/public-fetch.ts";
import { raw, silence } from "../../doubles/answers.ts";
import { startWebServer } from "../../doubles/web-server.ts";
import { afterTest } from "../../tooling/cleanup.ts";
import { createTestHost, hello } from "../test-host.ts";

const content = "関所 🏯";
const sha256 = createHash("sha256").update(content).digest("hex");

/** Reads the first attachment and answers with its text, or with why it could not. */
function reading({ maxBytes }: { maxBytes?: number } = {}): Agent {
  return async function* (task, { readAttachment }) {
    const [attachment] = task.attachments ?? [];
    if (attachment === undefined) throw new Error("no attachment");
    const outcome = await readAttachment({
      attachment,
      ...(maxBytes !== undefined && { maxBytes }),
    }).then(
      (bytes) => Buffer.from(bytes).toString(),
      (error: unknown) => SekishoError.from(error).reason,
    );
    yield { type: "answer", text: outcome };
  };
}

async function startFiles(
  handle: (request: Request) => Response | Promise<Response> = () => raw(content),
) {
  const requests: Request[] = [];
  const { url, close } = await startWebServer({
    handle: async ({ request }) => {
      requests.push(request);
      return handle(request);
    },
  });
  afterTest(close);
  return { url, requests };
}

const onLoopback = createPublicFetch({ allowLoopback: true });

/** Where the server at `url` is the Verification zone's. */
function localFetch(url: string): PublicFetch {
  return createLocalAttachmentFetch({ verificationPort: () => Number(new URL(url).port) });
}

async function answerFor({
  url,
  agent = reading(),
  publicFetch,
  ...fileFields
}: {
  url: string;
  agent?: Agent;
  publicFetch?: PublicFetch;
  sha256?: string;
}) {
  const { call, lines } = createTestHost({ agent, ...(publicFetch && { publicFetch }) });
  const attachment = {
    id: "F1",
    name: "a.txt",
    mimetype: "text/plain",
    size: 12,
    url,
    ...fileFields,
  };
  const { result } = await call("execute_task", { ...hello, attachments: [attachment] });
  return { text: result?.response_text, lines };
}

describe("an agent that reads an attachment", () => {
  it("reads the bytes of an attachment", async () => {
    const { url, requests } = await startFiles();
    const { text } = await answerFor({ url, publicFetch: onLoopback, sha256 });
    expect(text).toBe(content);
    expect(requests).toHaveLength(1);
  });

  it("refuses bytes that differ from those of the sender", async () => {
    const { url } = await startFiles(() => raw(`${content}!`));
    const { text, lines } = await answerFor({ url, publicFetch: onLoopback, sha256 });
    expect(text).toBe("invalid_response");
    expect(lines.join("\n")).toContain('"attachment_not_read"');
  });

  it("refuses more bytes than the agent asked for", async () => {
    const { url } = await startFiles();
    const { text } = await answerFor({
      url,
      publicFetch: onLoopback,
      agent: reading({ maxBytes: 3 }),
    });
    expect(text).toBe("payload_too_large");
  });

  it.each(["https://169.254.169.254/latest/meta-data/", "https://10.0.0.1/", "https://[::1]/"])(
    "refuses to read %s and logs the refusal without the address",
    async (url) => {
      const { text, lines } = await answerFor({ url });
      expect(text).toBe("permission_denied");
      expect(lines.join("\n")).toContain('"permission_denied"');
      expect(lines.join("\n")).not.toContain(new URL(url).host);
    },
  );

  it("refuses attachments on loopback by default", async () => {
    const { url, requests } = await startFiles();
    expect((await answerFor({ url })).text).toBe("permission_denied");
    expect(requests).toEqual([]);
  });

  it("reads the files of a local Verification zone if the host was created for that", async () => {
    const { url } = await startFiles();
    const attachmentOptions = { publicFetch: localFetch(url), sha256 };
    expect(
      (await answerFor({ ...attachmentOptions, url: `${url}/files/r1/F1?expires=1&signature=x` }))
        .text,
    ).toBe(content);
    const { port } = new URL(url);
    expect(
      (await answerFor({ ...attachmentOptions, url: `http://localhost:${port}/files/r1/F1` })).text,
    ).toBe(content);
  });

  it.each([
    ["another path", (url: string) => `${url}/admin`],
    ["a path with ..", (url: string) => `${url}/files/../admin`],
    ["a path with an encoded ..", (url: string) => `${url}/files/%2e%2e/admin`],
    ["credentials", (url: string) => `${url.replace("//", "//user:password@")}/files/F1`],
    ["an address of another network", () => "https://10.0.0.1/files/F1"],
    ["the metadata address of a platform", () => "https://169.254.169.254/files/F1"],
  ])("refuses every address but the local files' to a local host: %s", async (_what, addressOf) => {
    const { url, requests } = await startFiles();
    const { text } = await answerFor({ url: addressOf(url), publicFetch: localFetch(url) });
    expect(text).toBe("permission_denied");
    expect(requests).toEqual([]);
  });

  it.each([
    ["differs", (url: string) => Number(new URL(url).port) + 1],
    ["is unknown", () => undefined],
  ])("refuses a local file when the port of the Verification zone %s", async (_what, portOf) => {
    const { url, requests } = await startFiles();
    const publicFetch = createLocalAttachmentFetch({ verificationPort: () => portOf(url) });
    expect((await answerFor({ url: `${url}/files/F1`, publicFetch })).text).toBe(
      "permission_denied",
    );
    expect(requests).toEqual([]);
  });

  it("stops reading when the task is canceled", async () => {
    const { url, requests } = await startFiles(silence);
    const readFailure = Promise.withResolvers<unknown>();
    const agent: Agent = async function* (task, { readAttachment }) {
      const [attachment = { url }] = task.attachments ?? [];
      await readAttachment({ attachment }).catch(readFailure.resolve);
      yield { type: "answer", text: "read" };
    };
    const { call, lines } = createTestHost({ agent, publicFetch: onLoopback, syncBudgetMs: 1 });
    const { result } = await call("execute_task", hello);
    while (requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await call("cancel_task", { task_id: result?.task_id });
    await expect(readFailure.promise).resolves.toMatchObject({ reason: "canceled" });
    expect(lines.join("\n")).not.toContain("attachment_not_read");
  });
});
