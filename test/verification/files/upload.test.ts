import { describe, expect, it } from "@jest/globals";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import type { Artifact } from "@sekisho/contracts/methods.ts";
import { createPublicFetch, type PublicFetch } from "@sekisho/runtime/public-fetch/public-fetch.ts";
import { createFiles } from "@sekisho/verification/files/create-files.ts";
import { FetchTimedOut, FileRefused, safeFileName } from "@sekisho/verification/files/files.ts";
import { type SlackApi, SlackError } from "@sekisho/verification/slack/api/slack.ts";
import type { SlackErrorKind } from "@sekisho/verification/task/events.ts";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";
import { serve } from "../../doubles/serving.ts";
import { sampleTask } from "../task/sample.ts";

const most = 1000;
const nowMs = 1_760_000_000_000;
type Upload = { name: string; length: number; bytes?: string };

/** A Slack that keeps uploads to itself, as the seam says. */
function slackWith({
  fails = {},
}: {
  fails?: Partial<Record<"startUpload" | "sendUpload", SlackErrorKind>>;
} = {}) {
  const uploads = new Map<string, Upload>();
  const teams: string[] = [];
  const slack: Pick<SlackApi, "startUpload" | "sendUpload"> = {
    async startUpload({ installation, name, length }) {
      if (fails.startUpload !== undefined) throw new SlackError(fails.startUpload);
      teams.push(installation.team);
      const fileId = `F${uploads.size + 1}`;
      uploads.set(fileId, { name, length });
      return { fileId, url: `https://files.slack.com/upload/v1/${fileId}` };
    },
    async sendUpload({ url, bytes }) {
      if (fails.sendUpload !== undefined) throw new SlackError(fails.sendUpload);
      const upload = uploads.get(url.split("/").at(-1) ?? "");
      if (upload !== undefined) upload.bytes = Buffer.from(bytes).toString("utf8");
    },
  };
  return { slack, uploads, teams };
}

function upload({
  artifacts,
  index = 0,
  slack = slackWith().slack,
  allowLoopback = true,
  ...request
}: {
  artifacts: Artifact[];
  index?: number;
  slack?: Pick<SlackApi, "startUpload" | "sendUpload">;
  allowLoopback?: boolean;
} & AnswerRequest) {
  const task = answerTask({ artifacts, ...request });
  return filesOver({ slack, publicFetch: createPublicFetch({ allowLoopback }) }).upload({
    task,
    index,
    signal,
  });
}

const { signal } = new AbortController();

type AnswerRequest = { fetchTimeouts?: number[]; sinceAnswerMs?: number };

/** A task that had its answer `sinceAnswerMs` ago. */
function answerTask({
  artifacts,
  fetchTimeouts,
  sinceAnswerMs = 0,
}: AnswerRequest & { artifacts: Artifact[] }) {
  const outcome = { type: "answer", text: "Here.", artifacts, fetchTimeouts } as const;
  const history = [
    { atMs: nowMs - sinceAnswerMs, event: "answered", state: "delivering" },
  ] as const;
  return sampleTask({ state: "delivering", outcome, history: [...history] });
}

function filesOver({
  slack = slackWith().slack,
  publicFetch,
  transferTimeoutMs = 2000,
}: {
  slack?: Pick<SlackApi, "startUpload" | "sendUpload">;
  publicFetch: PublicFetch;
  transferTimeoutMs?: number;
}) {
  const notHere = () => Promise.reject(new Error("not here"));
  return createFiles({
    slack: { fileInfo: notHere, canvasContent: notHere, ...slack },
    token: () => Promise.reject(new Error("not here")),
    apiUrl: "https://slack.com/api/",
    store: { put: () => Promise.reject(new Error("not here")) },
    publicFetch: () => publicFetch,
    maxBytes: most,
    maxCount: 10,
    transferTimeoutMs,
    now: () => nowMs,
  });
}

async function outcomeOf(uploading: Promise<unknown>) {
  const error: unknown = await uploading.then(undefined, (reason: unknown) => reason);
  if (!(error instanceof FileRefused)) throw error;
  return error.outcome;
}

describe("a file of an answer", () => {
  it("uploads a file with its name and bytes and does not share it yet", async () => {
    const { slack, uploads, teams } = slackWith();
    const artifacts = [
      { name: "harbour.csv", mimetype: "text/csv", text: "ship,関所\n" },
      { name: "dot.txt", mimetype: "text/plain", base64: Buffer.from("dot").toString("base64") },
    ];
    expect(await upload({ artifacts, slack })).toEqual({ fileId: "F1" });
    expect(await upload({ artifacts, slack, index: 1 })).toEqual({ fileId: "F2" });
    expect([...uploads.values()]).toEqual([
      { name: "harbour.csv", length: Buffer.byteLength("ship,関所\n"), bytes: "ship,関所\n" },
      { name: "dot.txt", length: 3, bytes: "dot" },
    ]);
    expect(teams).toEqual(["T1", "T1"]);
  });

  it("uploads data as one line of JSON and refuses data that is nested too deeply", async () => {
    const { slack, uploads } = slackWith();
    const nest = (levels: number): unknown => JSON.parse("[".repeat(levels) + "]".repeat(levels));
    const artifacts = [{ data: { gate: 1 } }, { data: nest(101) }, { data: nest(100_000) }];
    await upload({ artifacts, slack });
    expect([...uploads.values()]).toEqual([
      { name: "file.json", length: 11, bytes: '{"gate":1}\n' },
    ]);
    for (const index of [1, 2])
      expect(await outcomeOf(upload({ artifacts, slack, index }))).toMatchObject({
        why: "not_to_be_had",
      });
  });

  it("fetches a file that the agent names by its address", async () => {
    const { slack, uploads } = slackWith();
    const { url } = await serve(() => new Response("from afar"));
    await upload({ artifacts: [{ name: "a.txt", url: `${url}/a.txt` }], slack });
    expect([...uploads.values()]).toEqual([{ name: "a.txt", length: 9, bytes: "from afar" }]);
  });

  it("refuses an address that is not public and uploads nothing of it", async () => {
    let fetchCount = 0;
    const { url } = await serve(() => {
      fetchCount += 1;
      return new Response("secret");
    });
    const { slack, uploads } = slackWith();
    for (const address of [url, "http://169.254.169.254/latest/meta-data/", "file:///etc/passwd"]) {
      const uploading = upload({
        artifacts: [{ name: "a.txt", url: address }],
        slack,
        allowLoopback: false,
      });
      expect(await outcomeOf(uploading)).toEqual({
        type: "file_refused",
        why: "not_to_be_had",
        name: "a.txt",
      });
    }
    expect(fetchCount).toBe(0);
    expect(uploads.size).toBe(0);
  });

  it("refuses a file that is too large, whether included or fetched", async () => {
    const refusal = { type: "file_refused", why: "too_large", name: "a.txt", most };
    const text = "x".repeat(most + 1);
    expect(
      await outcomeOf(upload({ artifacts: [{ name: "a.txt", mimetype: "text/plain", text }] })),
    ).toEqual(refusal);
    const { url } = await serve(() => new Response(text));
    expect(await outcomeOf(upload({ artifacts: [{ name: "a.txt", url }] }))).toEqual(refusal);
    const fitting = [{ name: "a.txt", mimetype: "text/plain", text: "x".repeat(most) }];
    expect(await upload({ artifacts: fitting })).toEqual({ fileId: "F1" });
  });

  it("refuses a file that the answer or its address does not have", async () => {
    expect(await outcomeOf(upload({ artifacts: [], index: 3 }))).toMatchObject({
      why: "not_to_be_had",
    });
    const { url } = await serve(() => new Response("no", { status: 404 }));
    expect(await outcomeOf(upload({ artifacts: [{ name: "a.txt", url }] }))).toMatchObject({
      why: "not_to_be_had",
    });
  });

  const artifacts = [{ name: "a.txt", mimetype: "text/plain", text: "a" }];
  const steps = ["startUpload", "sendUpload"] as const;
  it.each(steps)(
    "gives up when Slack refuses the file or the permission for good (%s)",
    async (step) => {
      for (const kind of ["refused", "gone"] as const) {
        const { slack } = slackWith({ fails: { [step]: kind } });
        expect(await outcomeOf(upload({ artifacts, slack }))).toMatchObject({
          why: "not_to_be_had",
          name: "a.txt",
        });
      }
    },
  );

  it.each(steps)("reports a retryable error when Slack is unavailable (%s)", async (step) => {
    for (const kind of ["unavailable", "rate_limited", "ambiguous"] as const) {
      const { slack } = slackWith({ fails: { [step]: kind } });
      await expect(upload({ artifacts, slack })).rejects.toMatchObject({
        name: "SlackError",
        kind,
      });
    }
  });

  it("reports a retryable error when the address of the file is unavailable", async () => {
    const { url } = await serve(() => new Response("no", { status: 503 }));
    const uploading = upload({ artifacts: [{ name: "a.txt", url }] });
    await expect(uploading).rejects.toMatchObject({ name: "SlackError", kind: "unavailable" });
  });
});

describe("a file of an answer at an address that does not respond", () => {
  const silent = [
    { url: "https://a.example/1" },
    { url: "https://a.example/2" },
    { url: "https://b.example/3" },
  ];

  /** Counts what is fetched. Nothing responds, so every fetch times out. */
  function openSilence() {
    const fetching: { url: string; timeoutMs: number }[] = [];
    const publicFetch: PublicFetch = ({ url, timeoutMs }) => {
      fetching.push({ url, timeoutMs });
      const cause = new DOMException("It took too long.", "TimeoutError");
      return Promise.reject(new SekishoError("unavailable", { cause }));
    };
    return { fetched: fetching, publicFetch };
  }

  it("reports a time-out differently from a stop of the process", async () => {
    const { url } = await serve(() => new Promise(() => {}));
    const task = answerTask({ artifacts: [{ url }] });
    const publicFetch = createPublicFetch({ allowLoopback: true });
    const files = filesOver({ publicFetch, transferTimeoutMs: 20 });
    await expect(files.upload({ task, index: 0, signal })).rejects.toBeInstanceOf(FetchTimedOut);
    const stop = new AbortController();
    const stoppedUpload = filesOver({ publicFetch }).upload({
      task,
      index: 0,
      signal: stop.signal,
    });
    stop.abort(new Error("stopped"));
    await expect(stoppedUpload).rejects.toMatchObject({ name: "SlackError", kind: "unavailable" });
  });

  it("stops fetching from a host after two time-outs, whichever files they were of", async () => {
    const { fetched: fetching, publicFetch } = openSilence();
    const files = filesOver({ publicFetch, transferTimeoutMs: 20 });
    for (const fetchTimeouts of [
      [0, 0],
      [0, 1],
    ]) {
      const task = answerTask({ artifacts: silent, fetchTimeouts });
      expect([0, 1, 2].map((index) => files.isFetched({ task, index }))).toEqual([
        false,
        false,
        true,
      ]);
      const refusal = files.upload({ task, index: 1, signal });
      expect(await outcomeOf(refusal)).toMatchObject({ why: "not_to_be_had" });
    }
    const onceTask = answerTask({ artifacts: silent, fetchTimeouts: [0, 2] });
    expect([0, 1, 2].map((index) => files.isFetched({ task: onceTask, index }))).toEqual([
      true,
      true,
      true,
    ]);
    expect(fetching).toEqual([]);
  });

  it("fetches files only within the time that an answer has for all its transfers", async () => {
    const { fetched: fetching, publicFetch } = openSilence();
    const files = filesOver({ publicFetch, transferTimeoutMs: 30_000 });
    const lateTask = answerTask({ artifacts: silent, sinceAnswerMs: 59_990 });
    await expect(files.upload({ task: lateTask, index: 0, signal })).rejects.toBeInstanceOf(
      FetchTimedOut,
    );
    expect(fetching).toEqual([{ url: "https://a.example/1", timeoutMs: 5 }]);
    const task = answerTask({ artifacts: silent, sinceAnswerMs: 60_000 });
    expect(files.isFetched({ task, index: 0 })).toBe(false);
    expect(await outcomeOf(files.upload({ task, index: 0, signal }))).toMatchObject({
      why: "not_to_be_had",
    });
    expect(fetching).toHaveLength(1);
  });

  it("leaves time for files of other hosts after one host timed out twice", async () => {
    const { fetched: fetching, publicFetch } = openSilence();
    const files = filesOver({ publicFetch, transferTimeoutMs: 30_000 });
    let sinceAnswerMs = 0;
    for (const fetchTimeouts of [[], [0]]) {
      const task = answerTask({ artifacts: silent, sinceAnswerMs, fetchTimeouts });
      await expect(files.upload({ task, index: 0, signal })).rejects.toBeInstanceOf(FetchTimedOut);
      sinceAnswerMs += fetching.at(-1)?.timeoutMs ?? 0;
    }
    expect(sinceAnswerMs).toBeLessThanOrEqual(45_000);
  });

  it("uploads files included in the answer even after the time for fetching is over", async () => {
    const artifacts = [
      { name: "a.txt", text: "a" },
      { name: "b", base64: "YQ==" },
      { data: { a: 1 } },
    ];
    const task = answerTask({ artifacts, sinceAnswerMs: 3600_000 });
    const files = filesOver({ publicFetch: openSilence().publicFetch });
    for (const index of [0, 1, 2]) {
      expect(files.isFetched({ task, index })).toBe(false);
      expect(await files.upload({ task, index, signal })).toEqual({ fileId: `F${index + 1}` });
    }
  });
});

describe("a file's name", () => {
  it.each([
    ["../../etc/passwd", "passwd"],
    ["C:\\Users\\me\\report.docx", "report.docx"],
    ["a\r\nset-cookie: b.txt", "aset-cookie: b.txt"],
    ["invoice\u202Efdp.exe", "invoicefdp.exe"],
    ["報告書（最終）.pdf", "報告書（最終）.pdf"],
    [" spaced .txt ", "spaced .txt"],
    ["..", "file"],
    ["", "file"],
    ["a/", "file"],
    [".env", ".env"],
  ])("stores the file name %j as %j", (values, safeName) => {
    expect(safeFileName(values)).toBe(safeName);
  });

  it("keeps the extension of a name that it cuts and never splits a character", () => {
    expect(safeFileName(`${"x".repeat(300)}.pdf`)).toBe(`${"x".repeat(251)}.pdf`);
    const cut = safeFileName(`${"x".repeat(250)}😀😀😀.pdf`);
    expect(cut).toBe(`${"x".repeat(250)}.pdf`);
    expect(safeFileName(`x.${"y".repeat(300)}`)).toHaveLength(255);
  });

  it("returns a name that the contract, headers and disks accept, and leaves a safe name unchanged", () => {
    const anyText = fc.string({ unit: "binary", maxLength: 600 });
    forAll(anyText).hold((name) => {
      const safe = safeFileName(name);
      expect(safe.length).toBeGreaterThan(0);
      expect(safe.length).toBeLessThanOrEqual(255);
      expect(safe).not.toMatch(/[/\\\p{Cc}]/u);
      expect(safe.isWellFormed()).toBe(true);
      expect(safeFileName(safe)).toBe(safe);
    });
  });
});
