/** Both functions of the Execution zone on Lambda, over an emulated table and an emulated queue. */
import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import type { CreateAgent } from "../../../lambdas/execution/agents/create-agent.ts";
import { createFunctionUrlHandler } from "../../../lambdas/execution/handlers/function-url-handler.ts";
import { createExecutionWorkerHandler } from "../../../lambdas/execution/handlers/worker-handler.ts";
import { whyNoDynamoDb } from "../../doubles/aws/emulators.ts";
import { type OpenEmulators, openEmulators } from "../../doubles/aws/open-emulators.ts";
import { type Answer, answering, hello } from "../test-host.ts";
import { openLambdaZone } from "./lambda-zone.ts";
import { functionUrlEvent } from "./payloads/function-url.ts";

const before = { ...process.env };
afterEach(() => {
  process.env = { ...before };
});

const suite = whyNoDynamoDb === undefined ? describe : describe.skip;

suite(`the functions on Lambda${whyNoDynamoDb === undefined ? "" : ` (left out: ${whyNoDynamoDb})`}`, () => {
  let opened: OpenEmulators;
  beforeAll(async () => {
    opened = await openEmulators();
  });
  afterAll(() => opened.close());

  async function open({ syncBudgetMs, createAgent }: { syncBudgetMs: number; createAgent?: CreateAgent }) {
    const zone = await openLambdaZone({ opened, execution: { syncBudgetMs }, ...(createAgent && { createAgent }) });
    async function call(method: string, params: unknown, id: string = randomUUID()) {
      const body = JSON.stringify({ jsonrpc: "2.0", id, method, params });
      return JSON.parse((await zone.handle(functionUrlEvent({ body }))).body) as Answer;
    }
    return { ...zone, call };
  }

  it("answer a call with the result of a worker that is done within the budget", async () => {
    const { call, workOnce } = await open({ syncBudgetMs: 15_000 });
    const [answer, { bodies, response }] = await Promise.all([
      call("execute_task", { ...hello, text: "関所 🏯", bot_token: "xoxb-hunter2" }),
      workOnce(),
    ]);
    expect(answer.result?.response_text).toContain("関所 🏯");
    expect(response).toEqual({ batchItemFailures: [] });
    expect(bodies.map((body) => Object.keys(JSON.parse(body)))).toEqual([["taskId"]]);
  });

  it("answer accepted, and later the result, to whoever asks for the request id", async () => {
    const { call, workOnce } = await open({ syncBudgetMs: 0 });
    const id = randomUUID();
    expect((await call("execute_task", hello, id)).result?.status).toBe("accepted");
    await workOnce();
    expect((await call("get_task", { request_id: id })).result?.response_text).toContain("hello");
  });

  it("keep the tasks of other callers in a queue of their own", async () => {
    const zone = await openLambdaZone({ opened, execution: { syncBudgetMs: 0 }, hasClientsQueue: true });
    async function ask(role: string) {
      const body = JSON.stringify({ jsonrpc: "2.0", id: randomUUID(), method: "execute_task", params: hello });
      const userArn = `arn:aws:sts::111122223333:assumed-role/${role}/session`;
      const answer = await zone.handle(functionUrlEvent({ body, userArn }));
      expect((JSON.parse(answer.body) as Answer).result?.status).toBe("accepted");
    }
    await ask("a2a-client");
    expect(await zone.queued()).toHaveLength(0);
    expect(await zone.queuedOfClients()).toHaveLength(1);
    await ask("sekisho-prod-verification");
    expect(await zone.queued()).toHaveLength(1);
    expect(await zone.queuedOfClients()).toHaveLength(0);
  });

  it("push the end of an accepted task before the function's handler is over, where its request wished it", async () => {
    const { call, workOnce, pushed } = await open({ syncBudgetMs: 0 });
    const id = randomUUID();
    const { result } = await call("execute_task", { ...hello, callback: true }, id);
    await workOnce();
    expect(await pushed()).toEqual([{ request_id: id, task_id: result?.task_id }]);
    await call("execute_task", hello);
    await workOnce();
    expect(await pushed()).toEqual([]);
  });

  it("give an agent the region, and refuse it a secret that is not in Secrets Manager", async () => {
    const said: unknown[] = [];
    const createAgent: CreateAgent = ({ region, readSecret }) => {
      said.push(region);
      return async function* () {
        said.push(await readSecret({ env: "API_KEY" }).catch(({ message }: Error) => message));
        yield { type: "answer", text: "done" };
      };
    };
    const { call, workOnce } = await open({ syncBudgetMs: 0, createAgent });
    await call("execute_task", hello);
    await workOnce();
    expect(said).toEqual(["eu-central-1", expect.stringContaining("API_KEY")]);
  });
});

describe("a function does not start", () => {
  const startUrl = (config: unknown = {}) => createFunctionUrlHandler({ config });
  const startWorker = () => createExecutionWorkerHandler({ config: {}, createAgent: () => answering("done") });

  it("without its variables, and says which is missing", () => {
    process.env = {};
    expect(startUrl).toThrow(/SEKISHO_TABLE/);
    expect(startWorker).toThrow(/SEKISHO_TABLE/);
    process.env = { SEKISHO_TABLE: "tasks" };
    expect(startUrl).toThrow(/SEKISHO_QUEUE_URL/);
    process.env = { ...process.env, SEKISHO_QUEUE_URL: "https://sqs.eu-central-1.amazonaws.com/1/tasks" };
    expect(startUrl).toThrow(/SEKISHO_CALLERS/);
    process.env = { SEKISHO_TABLE: "tasks" };
    expect(startWorker).toThrow(/SEKISHO_COMPLETIONS_URL/);
    process.env = { ...process.env, SEKISHO_COMPLETIONS_URL: "https://sqs.eu-central-1.amazonaws.com/1/completions" };
    expect(startWorker).toThrow(/AWS_/);
  });

  it("with a configuration that is none, and says what is wrong", () => {
    expect(() => startUrl({ execution: { agent: 7 } })).toThrow(/execution\.agent/);
  });
});
