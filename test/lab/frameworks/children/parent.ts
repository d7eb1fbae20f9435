/** Runs in a framework's process: tells the parent what happens here, and lets nothing leave the machine. */
import { Socket } from "node:net";

/** `event` is `ready`, `aborted` (a model's call was) or `traffic` (something tried to leave the machine). */
export type ChildMessage =
  | { event: "ready"; urls: Readonly<Record<string, string>> }
  | { event: "aborted" }
  | { event: "traffic"; host: string };

export function tell(message: ChildMessage): void {
  process.send?.(message);
}

const released = new Set<() => void>();

/** Resolves when the parent says so. */
export function untilReleased(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  released.add(resolve);
  return promise;
}

// A parent that fails leaves no server behind.
process.once("disconnect", () => process.exit());
process.on("message", () => {
  for (const release of released) release();
  released.clear();
});

const loopback: readonly unknown[] = ["127.0.0.1", "::1", "localhost", undefined];
const connect = Socket.prototype.connect;
/** Frameworks report their use to their makers. The options are a list if Node itself calls. */
Socket.prototype.connect = function (this: Socket, ...args: unknown[]) {
  const [first] = args.flat();
  const { host, path } = Object(first) as { host?: unknown; path?: unknown };
  if (typeof path !== "string" && !loopback.includes(host)) {
    tell({ event: "traffic", host: String(host) });
    return this.destroy(new Error("Nothing leaves the machine."));
  }
  return Reflect.apply(connect, this, args);
} as typeof connect;
