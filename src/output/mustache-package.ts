// Static name for a CommonJS package: behind the bundler's splitting a lazy import of it would only have `default`.
import Mustache from 'mustache';

export const { parse, render } = Mustache;
