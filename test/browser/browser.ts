/** The browser of the tests: Debian's Chromium without a window. */
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";
import { hangMs } from "../tooling/hang.ts";

const executablePaths = ["/usr/bin/chromium", "/usr/bin/chromium-browser"];

export const howToInstall =
  "Chromium is missing. Install it: apt-get install -y --no-install-recommends chromium (or set SEKISHO_CHROMIUM to its path).";

/** Undefined if there is none. `SEKISHO_CHROMIUM` names one that is somewhere else. */
export function findChromium(): string | undefined {
  const { SEKISHO_CHROMIUM: named } = process.env;
  return [...(named === undefined ? [] : [named]), ...executablePaths].find((path) =>
    existsSync(path),
  );
}

/** Rejects with what to install if there is no browser. */
export async function openBrowser(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error(howToInstall);
  // Chromium has no sandbox for root, which tests in a container run as.
  const args = [
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
  ];
  const sandbox = process.getuid?.() !== 0;
  return chromium.launch({ executablePath, args, chromiumSandbox: sandbox, timeout: hangMs });
}
