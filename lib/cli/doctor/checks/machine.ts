/** Is this Node one that is tested? */

import { randomUUID } from "node:crypto";
import { rm, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Check, failedFinding, okFinding, skippedFinding, warningFinding } from "../check.ts";
import type { PortUse, Zone } from "../port-use.ts";

const install = "Install Node 24 (https://nodejs.org), or run npm ci on Linux, which brings a pinned one along.";

/** `version` is as `process.versions.node` has it. */
export function nodeVersion({ version }: { version: string }): Check {
  return {
    name: "Node",
    async run() {
      const [major = 0, minor = 0] = version.split(".").map(Number);
      if (major < 22 || (major === 22 && minor < 18))
        return failedFinding(`${version} is too old: 22.18 is needed.`, install);
      if (major % 2 === 1) return warningFinding(`${version} is no release with long-term support.`, install);
      return okFinding(version);
    },
  };
}

// Is there room for what the zones keep, and may it be written?

const mebibyte = 1024 * 1024;
/** A transaction that finds no room loses its message. */
const leastFreeBytes = 64 * mebibyte;
const plentyFreeBytes = 1024 * mebibyte;

/** `folder` exists. */
export function disk({
  folder,
  freeBytes = freeBytesOf,
}: {
  folder: string;
  freeBytes?: (folder: string) => Promise<number>;
}): Check {
  return {
    name: "disk",
    async run() {
      const file = join(folder, `.doctor-${randomUUID()}`);
      try {
        await writeFile(file, "may it be written?", { mode: 0o600, flag: "wx" });
      } catch (thrown) {
        const code = String(Object(thrown).code);
        const remedy = `Let the user who runs sekisho write there (ls -ld ${folder}), or run it in another folder.`;
        return failedFinding(`${folder} cannot be written (${code}).`, remedy);
      } finally {
        await rm(file, { force: true });
      }
      const free = await freeBytes(folder);
      const what = `${folder} can be written; ${Math.floor(free / mebibyte)} MiB are free.`;
      const remedy = "Make room on the disk: tasks, their answers and files of messages are kept there.";
      if (free < leastFreeBytes) return failedFinding(what, remedy);
      return free < plentyFreeBytes ? warningFinding(what, remedy) : okFinding(what);
    },
  };
}

async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

// Is this machine's clock right, by the dates of what answers?

/** `skewMs` resolves to how far our clock is ahead; to undefined where nothing tells. */
export type ClockSource = { who: string; skewMs: () => Promise<number | undefined> };

const warnMs = 60_000;
/** Slack's signatures hold so long, and AWS's as well. */
const failMs = 300_000;

/** `trusted` tell of our clock alone; where they say that it is right, `others` tell of their own. */
export function clock({ trusted, others }: { trusted: readonly ClockSource[]; others: readonly ClockSource[] }): Check {
  return {
    name: "clock",
    async run() {
      const [known, further] = await Promise.all([read(trusted), read(others)]);
      const worst = mostOff([...known, ...further]);
      if (worst === undefined) return skippedFinding("Nothing answered that tells the time.");
      const off = Math.abs(worst.skewMs);
      const reference = mostOff(known);
      const isTheirs = reference !== undefined && Math.abs(reference.skewMs) <= warnMs;
      const remedy = isTheirs
        ? `Set the clock of ${worst.who}: Slack's and AWS's agree with this machine's.`
        : "Set this machine's clock, best by NTP (Linux: timedatectl set-ntp true).";
      const seconds = Math.round(off / 1000);
      if (off <= warnMs) {
        const names = [...known, ...further].map(({ who }) => who).join(", ");
        return okFinding(`${seconds} s from ${worst.who} at most (asked: ${names}).`);
      }
      const what = `It is ${seconds} s ${worst.skewMs > 0 ? "ahead of" : "behind"} ${worst.who}; signatures hold for ${failMs / 1000} s.`;
      return off >= failMs ? failedFinding(what, remedy) : warningFinding(what, remedy);
    },
  };
}

type Skew = { who: string; skewMs: number };

async function read(sources: readonly ClockSource[]): Promise<Skew[]> {
  const all = await Promise.all(
    sources.map(async ({ who, skewMs }) => ({ who, skewMs: await skewMs().catch(() => undefined) })),
  );
  return all.flatMap(({ who, skewMs }) => (skewMs === undefined ? [] : [{ who, skewMs }]));
}

function mostOff(skews: readonly Skew[]): Skew | undefined {
  return skews.toSorted((a, b) => Math.abs(b.skewMs) - Math.abs(a.skewMs))[0];
}

// Can a zone listen where it is to, or does it already?

export function portFree({
  zone,
  port,
  variable,
  use,
}: {
  zone: Zone;
  port: number;
  /** By which another port is chosen. */
  variable: string;
  use: () => Promise<PortUse>;
}): Check {
  return {
    name: `port ${port}`,
    async run() {
      switch (await use()) {
        case "free":
          return okFinding(`It is free: no ${zone} zone runs here now.`);
        case "zone":
          return okFinding(`The ${zone} zone runs here.`);
        case "other":
          return failedFinding(
            `Something that is no ${zone} zone listens there.`,
            `Stop it, or choose another port: ${variable}.`,
          );
        case "forbidden":
          return failedFinding("It may not be listened at.", `Choose a port above 1023: ${variable}.`);
      }
    },
  };
}
