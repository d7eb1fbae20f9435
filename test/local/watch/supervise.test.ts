/** The ports that `--watch` chooses itself. */
import { once } from "node:events";
import { createServer } from "node:net";
import { expect, it } from "@jest/globals";
import { freePort } from "@sekisho/local/free-port.ts";
import { replaceTakenPorts } from "@sekisho/local/watch/supervise.ts";
import { closeAfterTest } from "../../doubles/serving.ts";

it("chooses another port if another program took it before the start, and keeps one that is free", async () => {
  const otherProgram = closeAfterTest(createServer().listen(await freePort(), "127.0.0.1"));
  await once(otherProgram, "listening");
  const takenPort = String(Object(otherProgram.address()).port);
  const env = { SEKISHO_PORT: takenPort, SEKISHO_EXECUTION_PORT: String(await freePort()) };
  const { SEKISHO_EXECUTION_PORT: freeOne } = env;
  const names = ["SEKISHO_PORT", "SEKISHO_EXECUTION_PORT"];
  expect(await replaceTakenPorts({ env, names })).toBe(true);
  expect(env.SEKISHO_PORT).not.toBe(takenPort);
  expect(env.SEKISHO_EXECUTION_PORT).toBe(freeOne);
  expect(await replaceTakenPorts({ env, names })).toBe(false);
});

it("leaves a port that a person chose as it is, even if it is taken", async () => {
  const env = { SEKISHO_PORT: "1" };
  expect(await replaceTakenPorts({ env, names: [] })).toBe(false);
  expect(env).toEqual({ SEKISHO_PORT: "1" });
});
