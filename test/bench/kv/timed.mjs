// Runs a child process of the benchmark and returns its time, memory and output.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

export const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

/** Returns the wall time and the peak memory of a child process. */
export const timed = (command, args, env) =>
  new Promise((resolve) => {
    const began = performance.now();
    const child = spawn(command, args, {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let [stdout, stderr, rss] = ['', '', 0];
    const look = setInterval(() => {
      try {
        rss = Math.max(
          rss,
          Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1] ?? 0) / 1024,
        );
      } catch {
        // The process has already exited.
      }
    }, 20);
    child.stdout.on('data', (chunk) => (stdout += chunk));
    child.stderr.on('data', (chunk) => (stderr += chunk));
    child.once('close', (code) => {
      clearInterval(look);
      resolve({ code, stdout, stderr, ms: performance.now() - began, rss });
    });
  });
