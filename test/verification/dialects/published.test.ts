/** The errors that the contract and the A2A specification publish, from a server over a socket: what each means to a caller. */
import { readFileSync } from "node:fs";
import { afterAll, describe, expect, it } from "@jest/globals";
import * as z from "zod";
import { type Dialect, dialectSchema } from "../../../contracts/dialects.ts";
import { reasonSchema } from "../../../contracts/error-data.ts";
import { type ErrorDetails, type Reason, SekishoError } from "../../../contracts/errors.ts";
import { isRepeatedInCall } from "../../../lambdas/verification/transport/wrappers.ts";
import { type Answer, startAnsweringPeer } from "../../doubles/dialects/answering-peer.ts";
import { createDialectClient, toldBy } from "./dialect-client.ts";

type Case = Answer & { name: string; means: { reason: Reason; exact: boolean; details: ErrorDetails } };

const sources = ["zone", "zone-strict", "a2a-1.0", "a2a-0.3"].map(readSource);
const components = readComponents();

const toClose: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const close of toClose.splice(0).reverse()) await close();
});

/** Asks a server for each of the answers. */
function asker({ answers, dialect }: { answers: readonly Answer[]; dialect: Dialect }) {
  const started = startAnsweringPeer({ answers });
  toClose.push(async () => (await started).close());
  return async (index: number) => {
    const { url, calls } = await started;
    const client = createDialectClient({ url: `${url}/${index}`, dialect });
    const outcome = await client.call({ method: "execute_task", params: { channel: "C1", text: "t" } });
    await client.close();
    return { outcome, calls: calls.get(`/${index}`) };
  };
}

describe.each([...sources, components])("$source", ({ dialect, answers }) => {
  const ask = asker({ answers, dialect });

  it.each(answers.map(({ name, means }, index) => ({ name, means, index })))(
    "$name means $means.reason",
    async ({ means, index }) => {
      const { outcome, calls } = await ask(index);
      expect(toldBy(outcome)).toEqual({ ...means, message: new SekishoError(means.reason).message });
      expect(JSON.stringify(outcome)).not.toMatch(/Traceback|boom|secret/);
      expect(calls).toBe(means.exact && isRepeatedInCall(means.reason) ? 3 : 1);
    },
  );
});

function readSource(name: string): { source: string; dialect: Dialect; answers: readonly Case[] } {
  const file = new URL(`../../fixtures/dialects/${name}.json`, import.meta.url);
  const { source, dialect, answers } = JSON.parse(readFileSync(file, "utf8"));
  return { source, dialect: dialectSchema.parse(dialect), answers };
}

/** The error objects of the published OpenRPC document, by the reasons that it names them with. */
function readComponents(): { source: string; dialect: Dialect; answers: readonly Case[] } {
  const file = new URL("../../../contracts/generated/openrpc.json", import.meta.url);
  const { components: found } = JSON.parse(readFileSync(file, "utf8"));
  const errors = z.record(reasonSchema, z.looseObject({ code: z.int() })).parse(found.errors);
  const answers = Object.entries(errors).map(([name, error]) => ({
    name,
    status: 200,
    response: { jsonrpc: "2.0", id: "1", error },
    means: { reason: reasonSchema.parse(name), exact: true, details: {} },
  }));
  return { source: "The OpenRPC document of the zone contract", dialect: "zone", answers };
}
