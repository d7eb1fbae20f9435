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
/** Frameworks report their use to their makers. Called with options, a list of them if Node itself calls, or with a port and a host. */
Socket.prototype.connect = function (this: Socket, ...args: unknown[]) {
  const [first, second] = args.flat();
  const options =
    typeof first === "object" ? first : { host: typeof second === "string" ? second : undefined };
  const { host, path } = Object(options) as { host?: unknown; path?: unknown };
  if (typeof path !== "string" && !loopback.includes(host)) {
    tell({ event: "traffic", host: String(host) });
    // Refused, as by a host without such a service.
    return Reflect.apply(connect, this, [{ host: "127.0.0.1", port: 1 }]);
  }
  return Reflect.apply(connect, this, args);
} as typeof connect;
