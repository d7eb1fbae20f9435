/** The conformance suite of transports. A transport declares the features that it lacks; their cases are left out. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { silentLog } from "@sekisho/runtime/log.ts";
import { createClient } from "@sekisho/verification/transport/runner.ts";
import { type TapEntry, tapTransport } from "@sekisho/verification/transport/tap.ts";
import { answerCases, largeCases, statusCases, taskCases } from "./transport-answers.ts";
import type { CaseRun, TransportCase, TransportUnderTest } from "./transport-case.ts";
import { faultCases } from "./transport-faults.ts";
import { common } from "./transport-sample.ts";

const transportCases: readonly TransportCase[] = [
  ...answerCases,
  ...faultCases,
  ...largeCases,
  ...statusCases,
  ...taskCases,
];

export function describeTransport(transport: TransportUnderTest): void {
  describe(`the ${transport.name} transport`, () => {
    for (const transportCase of transportCases) {
      const lacks = (transportCase.needs ?? []).filter(
        (feature) => transport.unsupported[feature] !== undefined,
      );
      if (lacks.length === 0) it(transportCase.name, () => runCase({ transport, transportCase }));
    }

    it("declares only unsupported features that a case needs", () => {
      const needed = transportCases.flatMap(({ needs = [] }) => needs);
      expect(needed).toEqual(expect.arrayContaining(Object.keys(transport.unsupported)));
    });
  });
}

async function runCase({
  transport,
  transportCase: {
    script,
    idempotent = true,
    maxResponseBytes = 1024 * 1024,
    unreachable = false,
    check,
  },
}: {
  transport: TransportUnderTest;
  transportCase: TransportCase;
}): Promise<void> {
  const openWorld = await transport.open({ script, maxResponseBytes, unreachable });
  const pauses: number[] = [];
  const taps: TapEntry[] = [];
  const client = createClient({
    transport: tapTransport({ transport: openWorld.transport, tap: (entry) => taps.push(entry) }),
    destination: {
      name: "peer",
      dialect: transport.dialect ?? "zone",
      idempotent,
      callTimeoutMs: 5000,
    },
    log: silentLog,
    sleep: async ({ ms }) => void pauses.push(ms),
  });
  const execute: CaseRun["execute"] = ({ id = randomUUID(), text = "hello", ...over } = {}) =>
    client.call({
      method: "execute_task",
      params: { channel: "C1", text },
      id,
      ...common,
      ...over,
    });
  try {
    await check({ client, execute, calls: openWorld.calls, pauses, taps });
  } finally {
    await client.close();
    await openWorld.close();
  }
}
