/** The browser of the tests: Debian's Chromium without a window, which talks to this machine alone. */
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

const executablePaths = ["/usr/bin/chromium", "/usr/bin/chromium-browser"];

export const howToInstall =
  "Chromium is missing. Install it: apt-get install -y --no-install-recommends chromium (or set SEKISHO_CHROMIUM to its path).";

/** Undefined where there is none. `SEKISHO_CHROMIUM` names one that is somewhere else. */
export function findChromium(): string | undefined {
  const { SEKISHO_CHROMIUM: named } = process.env;
  return [...(named === undefined ? [] : [named]), ...executablePaths].find((path) => existsSync(path));
}

/** Rejects with what to install where there is no browser. */
export async function openBrowser(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error(howToInstall);
  // Who runs as root, as in a container, has no sandbox; the proxy that leads nowhere keeps everything but loopback out.
  const args = ["--disable-dev-shm-usage", "--disable-gpu", "--disable-background-networking", "--no-first-run"];
  const sandbox = process.getuid?.() !== 0;
  return chromium.launch({ executablePath, args, chromiumSandbox: sandbox, timeout: 30_000 });
}
