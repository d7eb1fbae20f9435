import { expect, it } from "@jest/globals";
import { stackFrames } from "@sekisho/runtime/stack-frames.ts";

it("lists the frames of files with paths and addresses, without those of Node", () => {
  const stack = [
    "TypeError: at (file:1:1)",
    "    at run (/app/agent.cjs:14:3)",
    "    at async file:///app/a%20b.ts?v=2:7:1",
    "    at node:internal/timers:603:17",
    "    at new Promise (<anonymous>)",
  ];
  expect(stackFrames(stack.join("\n"))).toEqual([
    { file: "/app/agent.cjs", line: 14, column: 3, name: "run" },
    { file: "/app/a b.ts", line: 7, column: 1, name: undefined },
  ]);
});

it("skips lines that are too long for a frame, because they belong to a message", () => {
  const frame = (length: number) => `    at run (/app/${"a".repeat(length - 25)}.ts:1:1)`;
  expect(frame(1000)).toHaveLength(1000);
  expect(stackFrames(`Error: hello\n${frame(1001)}`)).toEqual([]);
  expect(stackFrames(`Error: hello\n${frame(1000)}`)).toHaveLength(1);
});
