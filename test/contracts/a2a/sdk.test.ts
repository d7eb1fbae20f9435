/** Our shapes of A2A 1.0 against the official SDK's codecs: nothing is lost in either direction. */
import { AgentCard, StreamResponse, Task } from "@a2a-js/sdk";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { type OperationParams, operations } from "../../../contracts/a2a/operations.ts";
import { a2aTaskSchema } from "../../../contracts/a2a/task.ts";
import { params, streamEvent, task } from "./arbitraries.ts";
import { paramsCodecs, throughSdk, whatSdkKeeps, withoutDefaults } from "./sdk-codecs.ts";
import { wire } from "./wire.ts";

const numRuns = 25;

describe("the official SDK reads what we write, and we what it writes", () => {
  it("in tasks", () => {
    fc.assert(
      fc.property(whatSdkKeeps(task), (value) => {
        const written = throughSdk({ codec: Task, value });
        expect(written).toEqual(value);
        expect(wire(a2aTaskSchema.parse(wire(written)))).toEqual(value);
      }),
      { numRuns },
    );
  });

  it("in the events of a stream", () => {
    fc.assert(
      fc.property(whatSdkKeeps(streamEvent), (value) => {
        expect(throughSdk({ codec: StreamResponse, value })).toEqual(withoutDefaults(value));
      }),
      { numRuns },
    );
  });

  it.each(Object.keys(paramsCodecs) as (keyof typeof paramsCodecs)[])("in the params of %s", (operation) => {
    fc.assert(
      fc.property(whatSdkKeeps(params[operation] as fc.Arbitrary<OperationParams<typeof operation>>), (value) => {
        const written = wire(throughSdk({ codec: paramsCodecs[operation], value }));
        expect(withoutDefaults(operations[operation].parse(written))).toEqual(withoutDefaults(value));
      }),
      { numRuns },
    );
  });
});

it("a card that we publish is read whole", () => {
  const card = {
    name: "Echo",
    description: "Says it again",
    version: "1.0.0",
    supportedInterfaces: [{ url: "https://agent.test", protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
    capabilities: { streaming: true, pushNotifications: false, extensions: [{ uri: "urn:a" }] },
    securitySchemes: { token: { httpAuthSecurityScheme: { scheme: "bearer" } } },
    securityRequirements: [{ schemes: { token: { list: ["read"] } } }],
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [{ id: "echo", name: "Echo", description: "Says it again", tags: ["echo"] }],
    signatures: [{ protected: "a", signature: "b" }],
  };
  expect(throughSdk({ codec: AgentCard, value: card })).toEqual(card);
});
