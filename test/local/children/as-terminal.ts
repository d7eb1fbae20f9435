/** Loaded before a command whose stderr is a pipe: makes the command take it for a terminal with colours. */
import { WriteStream } from "node:tty";

const { getColorDepth } = WriteStream.prototype;
Object.assign(process.stderr, { isTTY: true, getColorDepth });
