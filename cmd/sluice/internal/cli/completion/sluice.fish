# Completion of sluice for fish. To use it now: sluice completion fish | source
function __sluice_words
  set -l words (commandline -opc)
  $words[1] __words fish 0 (commandline -cp | string collect) $words[2..-1] (commandline -ct | string collect --allow-empty) 2>/dev/null
end
complete -c sluice -e
complete -c sluice -k -a '(__sluice_words)'
