#!/usr/bin/env node
/** The entry of the `sekisho` command in the package. Plain JavaScript, because an old Node must be able to run it. */
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

// `| head` closes the pipe early. The command must still finish, so the error of the closed pipe is ignored.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error) => {
    if (error.code !== "EPIPE") throw error;
  });
}

if (major > 22 || (major === 22 && minor >= 19)) {
  const { main } = await import("./main.ts");
  process.exitCode = await main(process.argv.slice(2));
} else {
  console.error(
    `sekisho needs Node 22.19 or newer; this is ${process.versions.node}. Install Node 24 (https://nodejs.org), or put it into this project: npm install node@24.`,
  );
  process.exitCode = 2;
}
