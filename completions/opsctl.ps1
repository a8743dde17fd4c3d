# PowerShell completion for opsctl
Register-ArgumentCompleter -Native -CommandName opsctl -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 |
    Where-Object { $_.Extent.StartOffset -lt $cursorPosition } | ForEach-Object {
      if ($_ -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $_.Value } else { $_.Extent.Text }
    })
  if ($wordToComplete -eq '') { $words += '""' }
  $found = @(& opsctl __describe @words 2>$null)
  if ($found.Count -gt 0 -and $found[-1] -match '^:(file|directory)$') { return }
  foreach ($line in $found) {
    if ($line.StartsWith(':')) { continue }
    $word, $about = $line -split "`t", 2
    if ([string]::IsNullOrEmpty($about)) { $about = $word }
    $text = if ($word -match '^[A-Za-z0-9_./:=+-]+$') { $word }
      else { "'" + [System.Management.Automation.Language.CodeGeneration]::EscapeSingleQuotedStringContent($word) + "'" }
    [System.Management.Automation.CompletionResult]::new($text, $word, 'ParameterValue', $about)
  }
}
