// Runs a child process of the benchmark and returns its time, memory and output.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** @param {readonly number[]} values */
export const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

/** @typedef {{ code: number | null, stdout: string, stderr: string, ms: number, rss: number }} Timed */
/**
 * Returns the wall time and the peak memory of a child process.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {Readonly<Record<string, string | undefined>>} [env]
 * @returns {Promise<Timed>}
 */
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
