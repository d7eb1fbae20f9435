/** Cases of the token that says who asked, for an endpoint that verifies it. */
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { askerHeader } from "@sekisho/contracts/asker.ts";
import type { TestAsker, TokenFault } from "../asker.ts";
import type { CaseRun, ConformanceCase } from "../case.ts";
import { Deviation, NotApplicable } from "../deviation.ts";
import {
  expectError,
  expectResult,
  expectUnseenTask,
  readPeerResult,
  skipWithoutMethod,
} from "../expect.ts";
import type { PeerAnswer } from "../peer.ts";
import { channel } from "../tasks.ts";
import { readTask } from "./questions.ts";

const section = "Transport";
const hourMs = 3_600_000;

type Wrong = {
  name: string;
  /** Completes "execute_task with". */
  what: string;
  advice: string;
  /** The token for the request with this body. */
  token: (request: { asker: TestAsker; body: string }) => Promise<string | undefined>;
};

const withFault = (fault: () => TokenFault): Wrong["token"] => {
  return ({ asker, body }) => asker.issue({ body, fault: fault() });
};

const wrongTokens: readonly Wrong[] = [
  {
    name: "expired",
    what: "a token that has expired",
    advice: "Compare exp with the clock, with a tolerance of half a minute.",
    token: withFault(() => ({ nowMs: Date.now() - hourMs })),
  },
  {
    name: "early",
    what: "a token that was issued in an hour",
    advice: "Compare iat with the clock, with a tolerance of half a minute.",
    token: withFault(() => ({ nowMs: Date.now() + hourMs })),
  },
  {
    name: "other-audience",
    what: "a token for another destination",
    advice:
      "Compare aud with your own name. Otherwise another destination can use the tokens that it gets.",
    token: withFault(() => ({ audience: "https://another.example/" })),
  },
  {
    name: "other-issuer",
    what: "a token of another issuer, signed with the right key",
    advice: "Compare iss with the issuers that you trust.",
    token: withFault(() => ({ issuer: "https://another.example" })),
  },
  {
    name: "other-key",
    what: "a token that names the right key, and is signed with another one",
    advice: "Verify the signature with a library for JSON Web Tokens.",
    token: withFault(() => ({
      key: generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey,
    })),
  },
  {
    name: "unsigned",
    what: "a token with alg none and no signature",
    advice: "Give your library the list of algorithms, RS256 and ES256.",
    async token({ asker, body }) {
      const [header = "", claims] = (await asker.issue({ body })).split(".");
      const json = JSON.parse(Buffer.from(header, "base64url").toString());
      const unsigned = Buffer.from(JSON.stringify({ ...json, alg: "none" })).toString("base64url");
      return `${unsigned}.${claims}.`;
    },
  },
  {
    name: "other-body",
    what: "the token of another request",
    advice: "Compare body_sha256 with the SHA-256 of the bytes that came, before you parse them.",
    token: ({ asker }) => asker.issue({ body: createBody({ id: randomUUID(), text: "Another." }) }),
  },
];

function createBody({ id, text }: { id: string; text: string }): string {
  const params = { channel, text };
  return JSON.stringify({ jsonrpc: "2.0", id, method: "execute_task", params });
}

function requireAsker({ asker }: CaseRun): TestAsker {
  if (asker === undefined) throw new NotApplicable("the run has no key for tokens (--asker-key)");
  return asker;
}

/** Sends a task with that token, and without one for undefined. */
async function sendTask(
  { peer, texts }: CaseRun,
  createToken: (body: string) => Promise<string | undefined>,
) {
  const id = randomUUID();
  const sessionId = peer.sessionId;
  const body = createBody({ id, text: peer.mark(texts.plain) });
  const headers = { [askerHeader]: await createToken(body) };
  return { id, resend: () => peer.send({ id, body, sessionId, headers }) };
}

/** Expects the refusal, and that nothing was begun. */
async function expectNothingBegun(run: CaseRun, answer: PeerAnswer, id: string): Promise<string> {
  const came = expectError(answer, ["asker_unverified"]);
  run.step("get_task");
  const { sessionId } = run.peer;
  const params = { request_id: id };
  expectUnseenTask(await run.peer.call({ method: "get_task", params, sessionId }));
  return came;
}

const cases: readonly ConformanceCase[] = [
  {
    name: "asker/accepted",
    level: "required",
    section,
    expects: "execute_task with a token that says who asked: a result",
    advice:
      "Take the header sekisho-asker. Compare issuer, audience and the keys of your verifier with those of the run.",
    async check(run) {
      const asker = requireAsker(run);
      const { resend } = await sendTask(run, (body) => asker.issue({ body }));
      const answer = await resend();
      expectResult(answer, "execute_task");
      return answer.came;
    },
  },
  {
    name: "asker/missing",
    level: "required",
    section,
    needs: ["asker/accepted"],
    expects:
      "execute_task without a token: asker_unverified, error -32078, unless it may be absent",
    advice: "Refuse what brings no token, or say in your documents that it may be absent.",
    async check(run) {
      const { id, resend } = await sendTask(run, async () => undefined);
      const answer = await resend();
      if (readPeerResult(answer) !== undefined)
        throw new NotApplicable(`the endpoint takes tasks without a token: ${answer.came}`);
      return expectNothingBegun(run, answer, id);
    },
  },
  ...wrongTokens.map(
    ({ name, what, advice, token }): ConformanceCase => ({
      name: `asker/${name}`,
      level: "required",
      section,
      needs: ["asker/accepted"],
      expects: `execute_task with ${what}: asker_unverified, error -32078, and no task`,
      advice,
      async check(run) {
        const asker = requireAsker(run);
        const { id, resend } = await sendTask(run, (body) => token({ asker, body }));
        return expectNothingBegun(run, await resend(), id);
      },
    }),
  ),
  {
    name: "asker/replayed",
    level: "required",
    section,
    needs: ["asker/accepted"],
    expects: "a request sent again with the same token: asker_unverified, error -32078",
    advice:
      "Store the jti of each token until it has expired, with a write that fails if it is there already. A client that repeats a request sends a new token.",
    async check(run) {
      const asker = requireAsker(run);
      const { resend } = await sendTask(run, (body) => asker.issue({ body }));
      expectResult(await resend(), "execute_task");
      run.step("once more");
      return expectError(await resend(), ["asker_unverified"]);
    },
  },
  {
    name: "asker/answer",
    level: "required",
    section,
    needs: ["asker/accepted", "question/asks"],
    expects:
      "answer_task with the token of another request: asker_unverified, error -32078, and the question stays open",
    advice: "Verify the token of answer_task as that of execute_task: it says who answered.",
    async check(run) {
      const asker = requireAsker(run);
      const task = await run.tasks.askingForVerifiedAnswer();
      const { taskId: task_id, sessionId } = task;
      const id = randomUUID();
      const params = { task_id, text: "yes" };
      const body = JSON.stringify({ jsonrpc: "2.0", id, method: "answer_task", params });
      const headers = { [askerHeader]: await asker.issue({ body: `${body} ` }) };
      const answer = await run.peer.send({ id, body, sessionId, headers });
      skipWithoutMethod(answer, "answer_task");
      const came = expectError(answer, ["asker_unverified"]);
      run.step("get_task");
      const open = await readTask(run, task);
      if (expectResult(open, "get_task").status !== "input_required")
        throw new Deviation(open.came);
      return came;
    },
  },
];

export const askerCases = cases.map((one): ConformanceCase => ({ ...one, needsAsker: true }));
