import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { createInstallationFile } from "@sekisho/verification/installations/installation-file.ts";
import { sampleInstallation } from "./stored.ts";

let folder = "";
let file = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sekisho-installations-"));
  file = join(folder, "data", "installations.json");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("installations in a file", () => {
  it("keeps installations over a restart, readable only by the owner of the file", async () => {
    await createInstallationFile({ file }).put({ id: "T1", installation: sampleInstallation() });
    expect(await createInstallationFile({ file }).get({ id: "T1" })).toEqual(sampleInstallation());
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, "data")).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(folder, "data"))).toEqual(["installations.json"]);
  });

  it("returns nothing if the file does not exist or for a name that every object has", async () => {
    const installations = createInstallationFile({ file });
    expect(await installations.get({ id: "T1" })).toBeUndefined();
    await installations.put({ id: "T1", installation: sampleInstallation() });
    expect(await installations.get({ id: "constructor" })).toBeUndefined();
  });

  it("keeps all concurrent writes and the last installation of each workspace", async () => {
    const installations = createInstallationFile({ file });
    const ids = ["T1", "T2", "T3", "E1"];
    await Promise.all(
      ids.map((id) =>
        installations.put({ id, installation: sampleInstallation({ botToken: `xoxb-${id}` }) }),
      ),
    );
    await installations.put({
      id: "T1",
      installation: sampleInstallation({ botToken: "xoxb-again" }),
    });
    const tokens = await Promise.all(
      ids.map(async (id) => (await installations.get({ id }))?.botToken),
    );
    expect(tokens).toEqual(["xoxb-again", "xoxb-T2", "xoxb-T3", "xoxb-E1"]);
  });

  it("throws and keeps the file unchanged if it does not contain valid installations", async () => {
    const installations = createInstallationFile({ file });
    await installations.put({ id: "T1", installation: sampleInstallation() });
    const brokenText = '{"T1":{"botToken":"xoxb-secret"}}';
    writeFileSync(file, brokenText);
    const error = await installations.get({ id: "T1" }).catch((error: Error) => error);
    expect(String(error)).toContain("does not contain valid installations");
    expect(String(error)).not.toContain("xoxb");
    await expect(
      installations.put({ id: "T2", installation: sampleInstallation() }),
    ).rejects.toThrow("does not contain valid installations");
    expect(readFileSync(file, "utf8")).toBe(brokenText);
  });

  it.each(["../T1", "t1", "__proto__", ""])(
    "refuses to store an installation under the id %j",
    async (id) => {
      await expect(
        createInstallationFile({ file }).put({ id, installation: sampleInstallation() }),
      ).rejects.toThrow("not a Slack workspace or organization id");
    },
  );
});
