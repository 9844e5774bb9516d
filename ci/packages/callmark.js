#!/usr/bin/env node
// Runs the binary of the package for this platform, and ends as it ends.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const platform = `${process.platform}-${process.arch}`;
// `certify` ends what it started when one of these comes, so the binary has to have it.
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"];

function locate() {
  try {
    return require.resolve(`@callmark/${platform}/bin/callmark`);
  } catch {
    const known = Object.keys(require("./package.json").optionalDependencies);
    const isKnown = known.includes(`@callmark/${platform}`);
    const hint = isKnown
      ? "install again without `--omit=optional` or `--no-optional`"
      : `there are packages for ${known.map((name) => `\`${name.split("/")[1]}\``).join(", ")}`;
    console.error(`error: no binary of callmark for \`${platform}\`\nhint: ${hint}`);
    process.exit(2);
  }
}

const child = spawn(locate(), process.argv.slice(2), { stdio: "inherit" });
for (const signal of SIGNALS) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`error: the binary of callmark cannot be run: ${error.message}`);
  process.exit(2);
});
child.on("exit", (code, signal) => {
  // A shell reports 128 and the number of the signal that ended a process.
  process.exit(code ?? 128 + constants.signals[signal]);
});
