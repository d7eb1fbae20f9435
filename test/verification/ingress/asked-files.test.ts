/** The files of a message: what of them is kept, and that the longest message still fits the queue. */
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { escapeSqsText } from "../../../lambdas/shared/engine/aws/sqs-message.ts";
import { createTrace } from "../../../lambdas/shared/telemetry/telemetry.ts";
import { interpretPayload } from "../../../lambdas/verification/ingress/interpret-payload.ts";
import { readUserFiles } from "../../../lambdas/verification/slack/api/user-text.ts";
import { queueMessageSchema } from "../../../lambdas/verification/task/messages.ts";
import { fixture, nowMs } from "./slack-request.ts";

const address = "https://files.slack.com/files-pri/T0TEAM0001-F0FILE0001";
const hosted = {
  id: "F0FILE0001",
  name: "plan.pdf",
  mimetype: "application/pdf",
  size: 104_857,
  mode: "hosted",
  is_external: false,
  url_private: `${address}/plan.pdf`,
  url_private_download: `${address}/download/plan.pdf`,
};

describe("a file of a message", () => {
  it("is kept with what is needed to fetch it", () => {
    const { id, name, mimetype, size, url_private_download: url } = hosted;
    expect(readUserFiles([hosted])).toEqual([{ id, name, mimetype, size, url }]);
    expect(readUserFiles([{ ...hosted, url_private_download: undefined }])).toMatchObject([
      { url: hosted.url_private },
    ]);
  });

  it.each([
    ["a deleted one", { id: "F1", mode: "tombstone" }],
    ["one beyond the plan's limit", { ...hosted, id: "F1", mode: "hidden_by_limit" }],
    ["one that lies elsewhere", { ...hosted, id: "F1", is_external: true, url_private: "https://drive.example/1" }],
    ["one that lies elsewhere, by its mode", { ...hosted, id: "F1", mode: "external" }],
    ["one of a shared channel that Slack tells nothing of", { id: "F1", file_access: "check_file_info" }],
    ["one whose address is none", { ...hosted, id: "F1", url_private_download: "file:///etc/passwd" }],
  ])("that cannot be had is named without an address: %s", (_what, file) => {
    const [kept] = readUserFiles([file]);
    expect(kept).toMatchObject({ id: "F1" });
    expect(kept).not.toHaveProperty("url");
  });

  it("without a name is called by its title, or by its id", () => {
    const names = [{ ...hosted, name: null, title: "The plan" }, { id: "F2" }].map(
      (file) => readUserFiles([file])[0]?.name,
    );
    expect(names).toEqual(["The plan", "F2"]);
  });

  it("that is odd costs only itself", () => {
    expect(readUserFiles([null, "F1", { id: 7 }, { ...hosted, size: -1 }, hosted])).toHaveLength(1);
  });
});

describe("the files of a message", () => {
  it("are thirty at most, which the worker refuses as too many", () => {
    expect(readUserFiles(Array.from({ length: 100 }, () => hosted))).toHaveLength(30);
  });

  it("fit the queue together with the longest text, whatever the characters", () => {
    const evil = fc.constantFrom("\u0001", "\ud800", "\uffff", '"', "\\", "関", "🏯", "\u2028", "<");
    fc.assert(
      fc.property(evil, evil, (one, other) => {
        const name = one.repeat(1000);
        const url_private_download = `${address}/${'"'.repeat(900)}`;
        const files = Array.from({ length: 40 }, () => ({ ...hosted, name, mimetype: name, url_private_download }));
        const { event, ...payload } = fixture("app-mention");
        const verified = {
          type: "events_api" as const,
          payload: { ...payload, event: { ...event, files, text: other.repeat(60_000) } },
        };
        const understood = interpretPayload({ verified, nowMs, newTrace: createTrace });
        if ("drop" in understood) throw new Error(understood.drop);
        queueMessageSchema.parse(understood.message);
        expect(Buffer.byteLength(escapeSqsText(JSON.stringify(understood.message)))).toBeLessThan(256 * 1024);
      }),
      { numRuns: 30 },
    );
  });
});
