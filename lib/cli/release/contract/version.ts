/** Versions by their three numbers (https://semver.org); what is released here has no pre-releases. */

export type Version = { major: number; minor: number; patch: number };

/** Undefined where the text is none. */
export function parseVersion(text: string): Version | undefined {
  const [, major, minor, patch] = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/.exec(text) ?? [];
  if (major === undefined) return undefined;
  return { major: Number(major), minor: Number(minor), patch: Number(patch) };
}

/** Below 0 where `a` is the older one. What is no version is older than all. */
export function compareVersions(a: string, b: string): number {
  const none = { major: -1, minor: 0, patch: 0 };
  const [left, right] = [parseVersion(a) ?? none, parseVersion(b) ?? none];
  return left.major - right.major || left.minor - right.minor || left.patch - right.patch;
}
