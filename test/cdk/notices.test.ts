/** The licenses of packages accompany their code: in every asset, for the agent's own packages too, and in the conformance run. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "@jest/globals";
import { bundle } from "@sekisho/cdk/bundle/bundle.ts";
import { type BundleName, bundleNames } from "@sekisho/cdk/bundle/entry.ts";
import { bundledPackages, noticesFileName } from "@sekisho/cdk/bundle/notices.ts";
import { parseConfig } from "@sekisho/config/load.ts";
import { stop } from "esbuild";
import { bundleConformance } from "../../bin/release/bundle-conformance.ts";
import { folderOfFile } from "../tooling/cleanup.ts";

afterAll(stop);
const root = join(import.meta.dirname, "../..");
const folder = folderOfFile();

/** These packages have no license file. The text of their license, Apache-2.0, is there for others. */
const withoutLicenseFile = [
  "credential-provider-http",
  "credential-provider-login",
  "nested-clients",
].map((name) => `@aws-sdk/${name}`);

function bundleWith(name: BundleName, agent: unknown = "echo") {
  const { files, metafile } = bundle({
    name,
    config: parseConfig({ json: { execution: { agent } } }),
    configDirectory: folder,
  });
  return {
    packages: bundledPackages(metafile),
    notices: Buffer.from(files.get(noticesFileName) ?? "").toString(),
  };
}

function licenseOf(path: string): string | undefined {
  const file = readdirSync(join(root, path)).find((name) => /^licen[cs]e/i.test(name));
  return file === undefined
    ? undefined
    : readFileSync(join(root, path, file), "utf8")
        .replaceAll("\r\n", "\n")
        .trim();
}

describe("the notices", () => {
  const agents: [BundleName, unknown][] = [
    ...bundleNames.map((name): [BundleName, unknown] => [name, "echo"]),
    ["container", { type: "bedrock", modelId: "amazon.nova-lite-v1:0" }],
  ];

  it.each(agents)(
    "the notices list every package in %s with the agent %j, with its version and license",
    (name, agent) => {
      const { packages, notices } = bundleWith(name, agent);
      expect(packages.length).toBeGreaterThan(0);
      for (const path of packages) {
        const { name: packageName, version } = JSON.parse(
          readFileSync(join(root, path, "package.json"), "utf8"),
        );
        expect(notices).toContain(`\n${packageName} ${version} (`);
        const license = licenseOf(path);
        if (license === undefined) {
          expect(withoutLicenseFile).toContain(packageName);
          expect(notices).toContain(`\n${packageName} ${version} (Apache-2.0)\n`);
          expect(notices).toMatch(/^ *Apache License$/m);
        } else
          expect(
            notices.includes(license) ? packageName : `${packageName} without its license`,
          ).toBe(packageName);
      }
    },
  );

  it("the notices list the packages of a custom agent, with all of their notices and comments", () => {
    const own = join(folder, "node_modules/@acme/tools");
    mkdirSync(own, { recursive: true });
    writeFileSync(
      join(own, "package.json"),
      JSON.stringify({ name: "@acme/tools", version: "1.2.3", main: "index.js" }),
    );
    writeFileSync(
      join(own, "index.js"),
      "/*! Copyright Somebody */\nexports.tool = () => 'used';\n",
    );
    writeFileSync(join(own, "LICENCE.md"), "A license\r\nof Acme.\n");
    writeFileSync(join(own, "NOTICE"), "Portions of this are of Emca.\n");
    const agent = 'import { tool } from "@acme/tools";\nexport const agent = async () => tool();\n';
    writeFileSync(join(folder, "agent.ts"), agent);
    const { notices } = bundleWith("container", "./agent.ts");
    expect(notices).toContain("\n@acme/tools 1.2.3 (no license in its package.json)\n");
    for (const text of [
      "A license\nof Acme.",
      "Portions of this are of Emca.",
      "/*! Copyright Somebody */",
    ])
      expect(notices).toContain(text);
    expect(bundleWith("container").notices).not.toContain("@acme/tools");
  });

  it("the bundle of the conformance run ends with the notices", () => {
    const file = join(folder, "conformance.cjs");
    bundleConformance(file);
    const text = readFileSync(file, "utf8");
    expect(existsSync(`${file}.LEGAL.txt`)).toBe(false);
    const license = licenseOf("node_modules/zod") ?? "no license";
    expect(text.slice(text.lastIndexOf("\n/*\n"))).toContain(license);
  });
});
