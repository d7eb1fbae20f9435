/** The commands that replace the zone's secret, the same on both engines. A worker then reads what they wrote. */
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createZoneSecret, parseZoneSecret } from "@sekisho/verification/zone-secret.ts";
import { printing, refusing } from "../aws/command-here.ts";
import { places, type TestPlace } from "../tasks/places.ts";

describe.each(places)("sekisho zone-secret at $name", ({ open }) => {
  let place: TestPlace;
  beforeAll(async () => {
    place = await open();
  });
  afterAll(() => place.close());
  const secret = (...args: string[]) => place.command("zone-secret", ...args);
  /** A new process each time, without a cached value. */
  const readByWorker = () =>
    createZoneSecret({ store: place.engine.taskStore({ parse: parseZoneSecret }) })();

  it("replaces the secret, keeps the former value until it is dropped, and prints neither", async () => {
    expect(await secret("replace")).toMatchObject(refusing(1, "There is no secret"));
    expect(await secret("drop-former")).toMatchObject(refusing(1, "There is no secret"));

    const { current: first } = await readByWorker();
    const outputs = [await secret("drop-former")];
    expect(outputs[0]).toMatchObject(printing("There is no former secret"));
    const startedAtMs = Date.now();
    outputs.push(await secret("replace"));
    expect(outputs[1]).toMatchObject(printing("Replaced the secret"));
    const { current: second, former } = await readByWorker();
    expect(second).not.toBe(first);
    expect(Buffer.from(second, "base64url")).toHaveLength(32);
    expect(former?.value).toBe(first);
    expect(former?.beforeMs).toBeGreaterThan(startedAtMs);

    outputs.push(await secret("replace"));
    expect(outputs[2]).toMatchObject(refusing(1, "sekisho zone-secret drop-former"));
    expect(await readByWorker()).toEqual({ current: second, former });

    outputs.push(await secret("drop-former"));
    expect(outputs[3]).toMatchObject(printing("Dropped the former secret"));
    expect(await readByWorker()).toEqual({ current: second });
    for (const value of [first, second]) expect(JSON.stringify(outputs)).not.toContain(value);
  });
});
